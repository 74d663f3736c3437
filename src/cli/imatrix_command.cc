// SPDX-License-Identifier: Apache-2.0
// ingot imatrix: which columns of a model's weights matter, measured on a text.
#include <fmt/core.h>

#include "api/loaded_model.h"
#include "cli/calibration.h"
#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/output.h"
#include "convert/source_tensor.h"

namespace ingot {
namespace {

constexpr const char* kImatrixFooter =
    R"(Writes what llama.cpp's tools read and write under this name (GGUF), for
'ingot quantize --imatrix FILE' and for llama-quantize. A GGUF type can also be calibrated on the
way: 'ingot quantize --calibration TEXT'.

Examples:
  ingot imatrix llama -f wiki.train.txt -o llama.imatrix.gguf
  ingot quantize llama -o llama-q4.gguf --method q4_k_m --imatrix llama.imatrix.gguf)";

class ImatrixCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    CLI::App* command =
        app.add_subcommand("imatrix", "Measure which columns of a model's weights matter");
    command->footer(kImatrixFooter);
    add_model_argument(*command, model_);
    command->add_option("-o,--output", output_, "The file to write")->required()->type_name("FILE");
    command
        ->add_option("-f,--file,--calibration", flags_.file,
                     "Text or .jsonl (a small built-in mix)")
        ->type_name("FILE");
    command->add_option("--chunks,--samples", flags_.samples, "Windows of it, at most (128)")
        ->check(CLI::Range(int64_t{1}, int64_t{1} << 20))
        ->type_name("N");
    command->add_option("-c,--ctx-size,--seq-len", flags_.length, "Tokens of each (512)")
        ->check(CLI::Range(int64_t{8}, int64_t{1} << 20))
        ->type_name("N");
    command->add_option("-t,--threads", threads_, "0: one per usable core")
        ->check(CLI::Range(0, 4096))
        ->type_name("N");
    add_log_level(*command);
    return command;
  }

  Status run() override {
    INGOT_TRY(const auto checkpoint, open_checkpoint(model_));
    INGOT_TRY(const GgufPlan plan, plan_gguf(checkpoint));
    INGOT_TRY(auto samples, calibration_samples(model_, flags_, threads_));
    INGOT_TRY(const ImportanceMatrix own,
              measure_importance(checkpoint, std::move(samples), flags_, threads_));
    // By the names that a GGUF file of this model has.
    ImportanceMatrix named = own;
    named.columns.clear();
    for (const SourceTensor& tensor : plan.tensors) {
      const std::vector<float>* columns = own.find(tensor.hf_module);
      constexpr std::string_view kWeight = ".weight";
      if (columns == nullptr || !is_linear(tensor.kind) || !tensor.name.ends_with(kWeight))
        continue;
      named.columns[tensor.name.substr(0, tensor.name.size() - kWeight.size())] = *columns;
    }
    INGOT_TRY(write_importance(named, output_));
    return print(fmt::format("{}: {} weights, measured on {} tokens of {}\n", output_,
                             named.columns.size(), named.tokens, named.dataset));
  }

 private:
  std::string model_ = "default";
  std::string output_;
  CalibrationFlags flags_;
  int threads_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_imatrix_command() {
  return std::make_unique<ImatrixCommand>();
}

}  // namespace ingot
