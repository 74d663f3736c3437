// SPDX-License-Identifier: Apache-2.0
// ingot quantize: a smaller checkpoint from a larger one.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "api/loaded_model.h"
#include "api/text_side.h"
#include "calibrate/samples.h"
#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/output.h"
#include "cli/progress_bar.h"
#include "cli/quantize_flags.h"
#include "cli/read_input.h"
#include "compress/compress.h"

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

A run that was killed goes on where it was when it is started again; the output appears whole.

Examples:
  ingot quantize llama -o llama-gptq --method gptq --calibration wiki.txt
  ingot quantize llama -o llama-awq --method awq --group-size 64
  ingot quantize llama -o llama-fp8 --method fp8 --keep down_proj)";

class QuantizeCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    CLI::App* command = app.add_subcommand("quantize", "Make a smaller checkpoint of a model");
    command->footer(kFooter);
    command->add_option("model", model_, "A .gguf file, or a folder with safetensors")
        ->required()
        ->type_name("MODEL");
    command->add_option("-o,--output", output_, "What to write: a folder")
        ->required()
        ->type_name("OUT");
    command->add_option("-m,--method", flags_.method, "How: see below")
        ->required()
        ->type_name("NAME");
    add_quantize_flags(*command, flags_);
    command->add_option("-t,--threads", threads_, "0: one per usable core")
        ->check(CLI::Range(0, 4096))
        ->type_name("N");
    command->add_flag("--force", overwrites_, "Replace OUT where it is there");
    command->add_flag("--json", json_, "Print one object");
    add_log_level(*command);
    return command;
  }

  Status run() override {
    if (!is_safetensors_method(flags_.method)) {
      return Status::invalid_argument("unknown method '{}'; see 'ingot quantize --help'",
                                      flags_.method);
    }
    INGOT_TRY(const auto checkpoint, open_checkpoint(model_));
    INGOT_TRY(CompressOptions options, compress_options(flags_, dtype_of(*checkpoint)));
    options.threads = threads_;
    options.overwrites = overwrites_;
    if (options.calibrates()) {
      INGOT_TRY(options.samples, samples());
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

 private:
  // Of the model's matrices: the layout of the first one.
  static Layout dtype_of(const Checkpoint& checkpoint) {
    for (const TensorEntry* entry : checkpoint.tensors()) {
      if (entry->tensor.shape.rank() == 2 && info(entry->tensor.layout).block_elements == 1 &&
          entry->tensor.layout <= Layout::kBF16)
        return entry->tensor.layout;
    }
    return Layout::kF16;
  }

  Result<std::vector<std::vector<TokenId>>> samples() const {
    INGOT_TRY(const TextSide text, load_text_side(model_));
    if (text.tokenizer == nullptr) return text.tokenizer_status;
    std::vector<std::string> documents = {std::string(default_calibration_text())};
    if (!flags_.calibration.empty()) {
      INGOT_TRY(const std::string content, read_text(flags_.calibration));
      INGOT_TRY(documents, calibration_documents(content, flags_.calibration));
    }
    return make_samples(*text.tokenizer, documents, {flags_.samples, flags_.sequence_length});
  }

  Status tell(const CompressReport& report, const Checkpoint& input) const {
    if (json_) {
      Json json = {{"output", output_},
                   {"bytes", report.bytes},
                   {"input_bytes", input.size_bytes()},
                   {"bits_per_weight", report.bits_per_weight},
                   {"quantized_weights", report.quantized_weights},
                   {"kept_weights", report.kept_weights},
                   {"kept", report.kept},
                   {"resumed", report.was_resumed}};
      return print_json(json);
    }
    std::string text =
        fmt::format("{}: {:.1f} MiB (from {:.1f}), {:.2f} bits a weight in the layers{}\n", output_,
                    static_cast<double>(report.bytes) / (1 << 20),
                    static_cast<double>(input.size_bytes()) / (1 << 20), report.bits_per_weight,
                    report.was_resumed ? "; went on where an earlier run was" : "");
    if (!report.kept.empty()) {
      text += fmt::format("{} modules stay as they are: {}{}\n", report.kept.size(),
                          report.kept.front(), report.kept.size() > 1 ? ", ..." : "");
    }
    return print(text);
  }

  std::string model_;
  std::string output_;
  QuantizeFlags flags_;
  int threads_ = 0;
  bool overwrites_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_quantize_command() {
  return std::make_unique<QuantizeCommand>();
}

}  // namespace ingot
