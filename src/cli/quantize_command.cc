// SPDX-License-Identifier: Apache-2.0
// ingot quantize: a smaller checkpoint from a larger one.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "api/loaded_model.h"
#include "base/log.h"
#include "cli/calibration.h"
#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/output.h"
#include "cli/progress_bar.h"
#include "cli/quantize_flags.h"
#include "cli/quantize_gguf_flags.h"
#include "compress/auto_mix.h"
#include "compress/compress.h"
#include "compress/compress_gguf.h"
#include "quant/mixture.h"

namespace ingot {
namespace {

constexpr const char* kFooter =
    R"(Methods that write safetensors, which transformers and vLLM load:
  rtn          round to nearest, 4 or 8 bits in groups (compressed-tensors, GPTQ or AWQ files)
  gptq         rounds columns one after the other, each correcting those before (GPTQ files)
  awq          scales the columns that matter before rounding (AWQ files)
  smoothquant  weights and inputs in 8 bits (compressed-tensors W8A8)
  fp8          E4M3: --scales channel (dynamic inputs), tensor, block; --static
  nf4          bitsandbytes NF4 with double quantization
  mxfp4, nvfp4 4-bit floats (compressed-tensors)

Methods that write GGUF, by the names of llama-quantize, with bits a weight of an 8B model:
{}
A mix of types chosen by measuring what each matrix costs: --target-bpw, --target-size or --max-kl.
It is written to OUT.recipe.json, which can be edited and replayed with --recipe.

Without --imatrix GGUF types round by themselves; --calibration measures importance on the way.
A run that was killed goes on where it was when it is started again; the output appears whole.

Examples:
  ingot quantize llama -o llama-q4_k_m.gguf --method q4_k_m --calibration wiki.txt
  ingot quantize llama -o llama-mix.gguf --target-bpw 4.25 --calibration wiki.txt
  ingot quantize llama -o llama-gptq --method gptq --calibration wiki.txt
  ingot quantize llama -o llama-awq --method awq --group-size 64
  ingot quantize llama -o llama-fp8 --method fp8 --keep down_proj)";

double mebibytes(uint64_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

class QuantizeCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    CLI::App* command = app.add_subcommand("quantize", "Make a smaller checkpoint of a model");
    command->footer(fmt::format(kFooter, mixture_table()));
    command->add_option("model", model_, "A .gguf file, or a folder with safetensors")
        ->required()
        ->type_name("MODEL");
    command->add_option("-o,--output", output_, "What to write: a folder, or a .gguf file")
        ->required()
        ->type_name("OUT");
    command->add_option("-m,--method,--type", flags_.method, "How: see below")->type_name("NAME");
    add_mix_flags(*command);
    add_quantize_flags(*command, flags_);
    add_quantize_gguf_flags(*command, gguf_flags_);
    command->add_option("-t,--threads", threads_, "0: one per usable core")
        ->check(CLI::Range(0, 4096))
        ->type_name("N");
    command->add_flag("--force", overwrites_, "Replace OUT where it is there");
    command->add_flag("--json", json_, "Print one object");
    add_log_level(*command);
    return command;
  }

  Status run() override {
    if (has_mix() || !recipe_.empty()) {
      if (!flags_.method.empty())
        return Status::invalid_argument("a target or a recipe takes the place of --method");
      return recipe_.empty() ? run_mix() : run_recipe();
    }
    if (flags_.method.empty()) {
      return Status::invalid_argument(
          "say how: --method NAME, a target such as --target-bpw 4.25, or --recipe FILE");
    }
    mixture_ = find_mixture(flags_.method);
    const bool is_safetensors = is_safetensors_method(flags_.method);
    // mxfp4 is a method of both: the output's name says which.
    const bool wants_gguf = output_.ends_with(".gguf");
    if (mixture_ != nullptr && (wants_gguf || !is_safetensors)) return run_gguf();
    if (!is_safetensors) {
      return Status::invalid_argument(
          "unknown method '{}'; see 'ingot quantize --help' for those there are", flags_.method);
    }
    if (wants_gguf) {
      return Status::invalid_argument("--method {} writes a folder of safetensors, not '{}'",
                                      flags_.method, output_);
    }
    return run_safetensors();
  }

 private:
  CalibrationFlags calibration() const {
    return {flags_.calibration, flags_.samples, flags_.sequence_length};
  }

  Status run_safetensors() const {
    INGOT_TRY(const auto checkpoint, open_checkpoint(model_));
    INGOT_TRY(CompressOptions options, compress_options(flags_, dtype_of(*checkpoint)));
    options.threads = threads_;
    options.overwrites = overwrites_;
    if (options.calibrates()) {
      INGOT_TRY(options.samples, calibration_samples(model_, calibration()));
    }
    ProgressBar bar("Quantizing");
    options.progress = [&](std::string_view what, double fraction) {
      bar.set_label(fmt::format("Quantizing, {}", what));
      bar.update(fraction);
    };
    INGOT_TRY(const CompressReport report, compress_safetensors(checkpoint, output_, options));
    bar.finish();
    return tell(report, *checkpoint);
  }

  void add_mix_flags(CLI::App& command) {
    command
        .add_option("--target-bpw", target_.bits_per_weight,
                    "GGUF: the best mix of types with so many bits a weight")
        ->check(CLI::Range(1.0, 32.0))
        ->type_name("X");
    command.add_option("--target-size", target_.bytes, "GGUF: the best mix in a file of this size")
        ->transform(CLI::AsSizeValue(true))
        ->type_name("SIZE");
    command
        .add_option("--max-kl", target_.kl,
                    "GGUF: the smallest mix whose KL divergence from the original is at most this")
        ->check(CLI::Range(1e-9, 1e3))
        ->type_name("X");
    command.add_option("--recipe", recipe_, "GGUF: types of all tensors, from an earlier mix")
        ->type_name("FILE");
    command.add_option("--save-recipe", saved_recipe_, "Where a mix is written (OUT.recipe.json)")
        ->type_name("FILE");
  }

  bool has_mix() const { return target_.bits_per_weight || target_.bytes || target_.kl; }

  Status run_mix() {
    if (static_cast<int>(target_.bits_per_weight.has_value()) +
            static_cast<int>(target_.bytes.has_value()) + static_cast<int>(target_.kl.has_value()) >
        1)
      return Status::invalid_argument("--target-bpw, --target-size and --max-kl: give one of them");
    INGOT_TRY(const auto checkpoint, open_checkpoint(model_));
    AutoMixOptions options;
    options.target = target_;
    options.walk.threads = threads_;
    INGOT_TRY(options.samples, calibration_samples(model_, calibration()));
    ProgressBar bar("Choosing types");
    options.progress = [&](std::string_view what, double fraction) {
      bar.set_label(fmt::format("Choosing types, {}", what));
      bar.update(fraction);
    };
    INGOT_TRY(AutoMix mix, choose_mix(checkpoint, options));
    bar.finish();
    const RecipeFacts facts{model_, calibration_name(calibration()), mix.bits_per_weight,
                            mix.allocation.loss, mix.measured_kl};
    const std::string path = saved_recipe_.empty() ? output_ + ".recipe.json" : saved_recipe_;
    INGOT_TRY(write_recipe(path, facts, mix.sensitivity, mix.allocation));
    if (!json_) {
      INGOT_TRY(print(fmt::format(
          "{}: {:.2f} bits a weight, KL divergence {:.5f} on {} tokens ({:.5f} was expected)\n",
          path, mix.bits_per_weight, mix.measured_kl, mix.sensitivity.tokens,
          mix.allocation.loss)));
    }
    mix.importance.chunk_size = flags_.sequence_length;
    mix.importance.dataset = facts.calibration;
    GgufCompressOptions compress;
    compress.types.recipe = recipe_types(mix.sensitivity, mix.allocation);
    compress.importance = &mix.importance;
    compress.importance_name = "measured by ingot quantize";
    return write_gguf(checkpoint, compress);
  }

  Status run_recipe() const {
    INGOT_TRY(const auto checkpoint, open_checkpoint(model_));
    GgufCompressOptions options;
    INGOT_TRY(options.types, gguf_type_options(gguf_flags_));
    INGOT_TRY(options.types.recipe, read_recipe(recipe_));
    ImportanceMatrix importance;
    INGOT_TRY(find_importance(checkpoint, true, importance, options));
    return write_gguf(checkpoint, options);
  }

  Status run_gguf() const {
    INGOT_TRY(const auto checkpoint, open_checkpoint(model_));
    GgufCompressOptions options;
    INGOT_TRY(options.types, gguf_type_options(gguf_flags_));
    options.types.mixture = mixture_;
    ImportanceMatrix importance;
    INGOT_TRY(find_importance(checkpoint, needs_importance(*mixture_), importance, options));
    return write_gguf(checkpoint, options);
  }

  // From a file, or measured where a text is given or the types need it.
  Status find_importance(const std::shared_ptr<const Checkpoint>& checkpoint, bool is_needed,
                         ImportanceMatrix& importance, GgufCompressOptions& options) const {
    if (!gguf_flags_.imatrix.empty()) {
      INGOT_TRY(importance, read_importance(gguf_flags_.imatrix));
      options.importance = &importance;
      options.importance_name = gguf_flags_.imatrix;
    } else if (!flags_.calibration.empty() || is_needed) {
      INGOT_TRY(importance, measure_importance(model_, checkpoint, calibration(), threads_));
      options.importance = &importance;
      options.importance_name = "measured by ingot quantize";
    }
    return Status::ok();
  }

  Status write_gguf(const std::shared_ptr<const Checkpoint>& checkpoint,
                    GgufCompressOptions& options) const {
    options.overwrites = overwrites_;
    options.threads = threads_;
    ProgressBar bar("Quantizing");
    options.progress = [&](std::string_view what, double fraction) {
      bar.set_label(fmt::format("Quantizing, {}", what));
      bar.update(fraction);
    };
    INGOT_TRY(const GgufCompressReport report, compress_gguf(checkpoint, output_, options));
    bar.finish();
    return tell(report, *checkpoint);
  }

  // Of the model's matrices: the layout of the first one.
  static Layout dtype_of(const Checkpoint& checkpoint) {
    for (const TensorEntry* entry : checkpoint.tensors()) {
      if (entry->tensor.shape.rank() == 2 && info(entry->tensor.layout).block_elements == 1 &&
          entry->tensor.layout <= Layout::kBF16)
        return entry->tensor.layout;
    }
    return Layout::kF16;
  }

  static std::string again(bool was_resumed) {
    return was_resumed ? "; went on where an earlier run was" : "";
  }

  Status tell(const CompressReport& report, const Checkpoint& input) const {
    if (report.was_quantized) warn_quantized();
    if (json_) {
      return print_json({{"output", output_},
                         {"bytes", report.bytes},
                         {"input_bytes", input.size_bytes()},
                         {"bits_per_weight", report.bits_per_weight},
                         {"quantized_weights", report.quantized_weights},
                         {"kept_weights", report.kept_weights},
                         {"kept", report.kept},
                         {"resumed", report.was_resumed}});
    }
    std::string text =
        fmt::format("{}: {:.1f} MiB (from {:.1f}), {:.2f} bits a weight in the layers{}\n", output_,
                    mebibytes(report.bytes), mebibytes(input.size_bytes()), report.bits_per_weight,
                    again(report.was_resumed));
    if (!report.kept.empty()) {
      text += fmt::format("{} modules stay as they are: {}{}\n", report.kept.size(),
                          report.kept.front(), report.kept.size() > 1 ? ", ..." : "");
    }
    return print(text);
  }

  Status tell(const GgufCompressReport& report, const Checkpoint& input) const {
    if (report.was_quantized) warn_quantized();
    if (json_) {
      return print_json({{"output", output_},
                         {"bytes", report.bytes},
                         {"input_bytes", input.size_bytes()},
                         {"bits_per_weight", report.bits_per_weight},
                         {"tensors_by_type", report.tensors_by_type},
                         {"notes", report.notes},
                         {"resumed", report.was_resumed}});
    }
    std::string types;
    for (const auto& [type, count] : report.tensors_by_type)
      types += fmt::format("{}{} {}", types.empty() ? "" : ", ", count, type);
    std::string text = fmt::format("{}: {:.1f} MiB (from {:.1f}), {:.2f} bits a weight ({}){}\n",
                                   output_, mebibytes(report.bytes), mebibytes(input.size_bytes()),
                                   report.bits_per_weight, types, again(report.was_resumed));
    for (const std::string& note : report.notes)
      text += note + "\n";
    return print(text);
  }

  static void warn_quantized() {
    log_warning(
        "the input was quantized already: errors add up; better start from the original weights");
  }

  std::string model_;
  std::string output_;
  QuantizeFlags flags_;
  QuantizeGgufFlags gguf_flags_;
  MixTarget target_;
  std::string recipe_;
  std::string saved_recipe_;
  const Mixture* mixture_ = nullptr;
  int threads_ = 0;
  bool overwrites_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_quantize_command() {
  return std::make_unique<QuantizeCommand>();
}

}  // namespace ingot
