// SPDX-License-Identifier: Apache-2.0
#include "cli/quantize_job.h"

#include <fmt/core.h>

#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "api/loaded_model.h"
#include "base/log.h"
#include "cli/calibration.h"
#include "cli/converted_input.h"
#include "cli/progress_bar.h"
#include "compress/auto_mix.h"
#include "compress/compress.h"
#include "compress/compress_gguf.h"
#include "quant/mixture.h"

namespace ingot {
namespace {

double mebibytes(uint64_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

class QuantizeRun {
 public:
  explicit QuantizeRun(const QuantizeJob& job) : job_(job) {}

  Result<QuantizeOutcome> run() {
    if (has_mix() || !job_.recipe.empty()) {
      if (!job_.flags.method.empty())
        return Status::invalid_argument("a target or a recipe takes the place of --method");
      return job_.recipe.empty() ? run_mix() : run_recipe();
    }
    if (job_.flags.method.empty()) {
      return Status::invalid_argument(
          "say how: --method NAME, a target such as --target-bpw 4.25, or --recipe FILE");
    }
    mixture_ = find_mixture(job_.flags.method);
    const bool is_safetensors = is_safetensors_method(job_.flags.method);
    // mxfp4 is a method of both: the output's name says which.
    const bool wants_gguf = job_.output.ends_with(".gguf");
    if (mixture_ != nullptr && (wants_gguf || !is_safetensors)) return run_gguf();
    if (!is_safetensors) {
      return Status::invalid_argument(
          "unknown method '{}'; see 'ingot quantize --help' for those there are",
          job_.flags.method);
    }
    if (wants_gguf) {
      return Status::invalid_argument("--method {} writes a folder of safetensors, not '{}'",
                                      job_.flags.method, job_.output);
    }
    return run_safetensors();
  }

 private:
  CalibrationFlags calibration() const {
    return {job_.flags.calibration, job_.flags.samples, job_.flags.sequence_length,
            job_.flags.own_samples};
  }

  Result<QuantizeOutcome> run_safetensors() const {
    INGOT_TRY(const auto input, open_checkpoint(job_.model));
    INGOT_TRY(compress_options(job_.flags, Layout::kF16));  // before any work
    auto checkpoint = input;
    std::optional<ConvertedInput> converted;
    if (input->gguf_metadata() != nullptr) {
      INGOT_TRY(check_output());
      INGOT_TRY(ConvertedInput made, ConvertedInput::create(job_.model, input, job_.output));
      INGOT_TRY(checkpoint, open_checkpoint(made.folder().string()));
      converted.emplace(std::move(made));
    }
    INGOT_TRY(CompressOptions options, compress_options(job_.flags, dtype_of(*checkpoint)));
    options.threads = job_.threads;
    options.overwrites = job_.overwrites;
    if (options.calibrates()) {
      INGOT_TRY(options.samples, calibration_samples(job_.model, calibration(), job_.threads));
    }
    ProgressBar bar("Quantizing");
    options.progress = [&](std::string_view what, double fraction) {
      bar.set_label(fmt::format("Quantizing, {}", what));
      bar.update(fraction);
    };
    INGOT_TRY(CompressReport report, compress_safetensors(checkpoint, job_.output, options));
    bar.finish();
    report.was_quantized = report.was_quantized || (converted && converted->was_quantized());
    return tell(report, *input);
  }

  // What the writer would say after the conversion.
  Status check_output() const {
    namespace fs = std::filesystem;
    std::error_code error;
    if (job_.overwrites || !fs::exists(job_.output, error) || fs::is_empty(job_.output, error))
      return Status::ok();
    return Status::refused("{}: exists; give --force to replace it", job_.output);
  }

  bool has_mix() const {
    return job_.target.bits_per_weight || job_.target.bytes || job_.target.kl;
  }

  Result<QuantizeOutcome> run_mix() {
    if (static_cast<int>(job_.target.bits_per_weight.has_value()) +
            static_cast<int>(job_.target.bytes.has_value()) +
            static_cast<int>(job_.target.kl.has_value()) >
        1)
      return Status::invalid_argument("--target-bpw, --target-size and --max-kl: give one of them");
    INGOT_TRY(const auto checkpoint, open_checkpoint(job_.model));
    AutoMixOptions options;
    options.target = job_.target;
    options.walk.threads = job_.threads;
    options.has_feedback = !job_.gguf.has_no_feedback;
    INGOT_TRY(options.samples, calibration_samples(job_.model, calibration(), job_.threads));
    ProgressBar bar("Choosing types");
    options.progress = [&](std::string_view what, double fraction) {
      bar.set_label(fmt::format("Choosing types, {}", what));
      bar.update(fraction);
    };
    INGOT_TRY(AutoMix mix, choose_mix(checkpoint, options));
    bar.finish();
    const RecipeFacts facts{job_.model, calibration_name(calibration()), mix.bits_per_weight,
                            mix.allocation.loss, mix.measured_kl};
    const std::string path =
        job_.saved_recipe.empty() ? job_.output + ".recipe.json" : job_.saved_recipe;
    INGOT_TRY(write_recipe(path, facts, mix.sensitivity, mix.allocation));
    said_ = fmt::format(
        "{}: {:.2f} bits a weight, KL divergence {:.5f} on {} tokens ({:.5f} was expected)\n", path,
        mix.bits_per_weight, mix.measured_kl, mix.sensitivity.tokens, mix.allocation.loss);
    mix.importance.chunk_size = job_.flags.sequence_length;
    mix.importance.dataset = facts.calibration;
    GgufCompressOptions compress;
    compress.types.recipe = recipe_types(mix.sensitivity, mix.allocation);
    compress.importance = &mix.importance;
    compress.importance_name = "measured by ingot quantize";
    if (!job_.gguf.has_no_feedback) compress.samples = options.samples;
    return write_gguf(checkpoint, compress);
  }

  Result<QuantizeOutcome> run_recipe() const {
    INGOT_TRY(const auto checkpoint, open_checkpoint(job_.model));
    GgufCompressOptions options;
    INGOT_TRY(options.types, gguf_type_options(job_.gguf));
    INGOT_TRY(options.types.recipe, read_recipe(job_.recipe));
    ImportanceMatrix importance;
    INGOT_TRY(find_importance(checkpoint, true, importance, options));
    return write_gguf(checkpoint, options);
  }

  Result<QuantizeOutcome> run_gguf() const {
    INGOT_TRY(const auto checkpoint, open_checkpoint(job_.model));
    GgufCompressOptions options;
    INGOT_TRY(options.types, gguf_type_options(job_.gguf));
    options.types.mixture = mixture_;
    ImportanceMatrix importance;
    INGOT_TRY(find_importance(checkpoint, needs_importance(*mixture_), importance, options));
    return write_gguf(checkpoint, options);
  }

  // From a file, or measured where a text is given or the types need it.
  Status find_importance(const std::shared_ptr<const Checkpoint>& checkpoint, bool is_needed,
                         ImportanceMatrix& importance, GgufCompressOptions& options) const {
    if (!job_.gguf.imatrix.empty()) {
      INGOT_TRY(importance, read_importance(job_.gguf.imatrix));
      options.importance = &importance;
      options.importance_name = job_.gguf.imatrix;
    } else if (!job_.flags.calibration.empty() || job_.flags.own_samples > 0 || is_needed) {
      INGOT_TRY(auto samples, calibration_samples(job_.model, calibration(), job_.threads));
      if (!job_.gguf.has_no_feedback) options.samples = samples;
      INGOT_TRY(importance,
                measure_importance(checkpoint, std::move(samples), calibration(), job_.threads));
      options.importance = &importance;
      options.importance_name = "measured by ingot quantize";
    }
    return Status::ok();
  }

  Result<QuantizeOutcome> write_gguf(const std::shared_ptr<const Checkpoint>& checkpoint,
                                     GgufCompressOptions& options) const {
    options.overwrites = job_.overwrites;
    options.threads = job_.threads;
    ProgressBar bar("Quantizing");
    options.progress = [&](std::string_view what, double fraction) {
      bar.set_label(fmt::format("Quantizing, {}", what));
      bar.update(fraction);
    };
    INGOT_TRY(const GgufCompressReport report, compress_gguf(checkpoint, job_.output, options));
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

  // What both kinds of output have in common; `which` says which bits are meant.
  template <class Report>
  QuantizeOutcome tell_size(const Report& report, const Checkpoint& input,
                            std::string_view which) const {
    if (report.was_quantized) {
      log_warning(
          "the input was quantized already: errors add up; better start from the original weights");
    }
    QuantizeOutcome outcome;
    outcome.json = {{"output", job_.output},
                    {"bytes", report.bytes},
                    {"input_bytes", input.size_bytes()},
                    {"bits_per_weight", report.bits_per_weight},
                    {"resumed", report.was_resumed}};
    outcome.text =
        said_ + fmt::format("{}: {:.1f} MiB (from {:.1f}), {:.2f} bits a weight {}{}\n",
                            job_.output, mebibytes(report.bytes), mebibytes(input.size_bytes()),
                            report.bits_per_weight, which,
                            report.was_resumed ? "; went on where an earlier run was" : "");
    return outcome;
  }

  QuantizeOutcome tell(const CompressReport& report, const Checkpoint& input) const {
    QuantizeOutcome outcome = tell_size(report, input, "in the layers");
    outcome.json["quantized_weights"] = report.quantized_weights;
    outcome.json["kept_weights"] = report.kept_weights;
    outcome.json["kept"] = report.kept;
    if (!report.kept.empty()) {
      outcome.text += fmt::format("{} modules stay as they are: {}{}\n", report.kept.size(),
                                  report.kept.front(), report.kept.size() > 1 ? ", ..." : "");
    }
    return outcome;
  }

  QuantizeOutcome tell(const GgufCompressReport& report, const Checkpoint& input) const {
    std::string types;
    for (const auto& [type, count] : report.tensors_by_type)
      types += fmt::format("{}{} {}", types.empty() ? "" : ", ", count, type);
    QuantizeOutcome outcome = tell_size(report, input, "(" + types + ")");
    outcome.json["tensors_by_type"] = report.tensors_by_type;
    outcome.json["error_feedback_tensors"] = report.fed_back;
    outcome.json["notes"] = report.notes;
    for (const std::string& note : report.notes)
      outcome.text += note + "\n";
    return outcome;
  }

  const QuantizeJob& job_;
  const Mixture* mixture_ = nullptr;
  std::string said_;  // before the outcome
};

}  // namespace

Result<QuantizeOutcome> run_quantize(const QuantizeJob& job) {
  return QuantizeRun(job).run();
}

Result<QuantizeJob> job_of_recipe(const std::string& recipe) {
  QuantizeJob job;
  if (find_mixture(recipe) != nullptr && !is_safetensors_method(recipe)) {
    job.flags.method = recipe;
    job.output = recipe + ".gguf";
    return job;
  }
  const size_t digits = recipe.find_first_of("0123456789");
  const std::string name = recipe.substr(0, digits);
  const std::string number = digits == std::string::npos ? "" : recipe.substr(digits);
  if (name == "mix") {
    double bits = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), bits);
    if (error == std::errc() && end == number.data() + number.size() && bits >= 1 && bits <= 16) {
      job.target.bits_per_weight = bits;
      job.output = recipe + ".gguf";
      return job;
    }
  }
  job.output = recipe;
  if (is_safetensors_method(recipe)) {
    job.flags.method = recipe;
    return job;
  }
  if (recipe == "int8" || recipe == "w8a8") {
    job.flags.method = "smoothquant";
    return job;
  }
  const bool has_bits = number.size() == 1 && number[0] >= '2' && number[0] <= '8';
  if (has_bits && (name == "gptq" || name == "rtn" || name == "awq")) {
    job.flags.method = name;
    job.flags.bits = number[0] - '0';
    return job;
  }
  return Status::invalid_argument(
      "'{}' is nothing to quantize by; give a GGUF mixture such as q4_k_m, a method such as gptq4, "
      "rtn8, awq, smoothquant, fp8, nf4, mxfp4 or nvfp4, or a mix such as mix4.25",
      recipe);
}

}  // namespace ingot
