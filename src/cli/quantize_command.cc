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
Without --imatrix these round by themselves; --calibration measures importance on the way.
A run that was killed goes on where it was when it is started again; the output appears whole.

Examples:
  ingot quantize llama -o llama-q4_k_m.gguf --method q4_k_m --calibration wiki.txt
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
    command->add_option("-m,--method,--type", flags_.method, "How: see below")
        ->required()
        ->type_name("NAME");
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

  Status run_gguf() const {
    INGOT_TRY(const auto checkpoint, open_checkpoint(model_));
    GgufCompressOptions options;
    INGOT_TRY(options.types, gguf_type_options(gguf_flags_));
    options.types.mixture = mixture_;
    options.overwrites = overwrites_;
    options.threads = threads_;
    ImportanceMatrix importance;
    if (!gguf_flags_.imatrix.empty()) {
      INGOT_TRY(importance, read_importance(gguf_flags_.imatrix));
      options.importance = &importance;
      options.importance_name = gguf_flags_.imatrix;
    } else if (!flags_.calibration.empty() || needs_importance(*mixture_)) {
      INGOT_TRY(importance, measure_importance(model_, checkpoint, calibration(), threads_));
      options.importance = &importance;
      options.importance_name = "measured by ingot quantize";
    }
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
