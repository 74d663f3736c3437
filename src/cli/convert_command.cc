// SPDX-License-Identifier: Apache-2.0
// ingot convert: a model in another container or type, without losing anything unsaid.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "api/loaded_model.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/model_flags.h"
#include "cli/output.h"
#include "cli/progress_bar.h"
#include "convert/convert_model.h"
#include "convert/input_identity.h"

namespace ingot {
namespace {

constexpr const char* kConvertFooter =
    R"(OUT ending in .gguf is written as GGUF, anything else as a folder of safetensors; --to says
otherwise. Types stay as they are unless --outtype changes them; GPTQ, AWQ and MXFP4 weights become
GGUF blocks of exactly the same values where there are such. The output appears when it is complete;
a run that was killed goes on where it was (its part is OUT.ingot-partial).

Examples:
  ingot convert folder -o model.gguf                  safetensors to GGUF
  ingot convert folder -o model.gguf --outtype f16    and cast
  ingot convert model-00001-of-00003.gguf -o one.gguf merge splits
  ingot convert model.gguf -o folder                  GGUF to safetensors
  ingot convert folder -o merged --lora adapter       merge a LoRA adapter)";

class ConvertCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    CLI::App* command = app.add_subcommand("convert", "Convert between GGUF and safetensors");
    command->footer(kConvertFooter);
    command->add_option("MODEL", model_, "GGUF file, folder, or `default`")->required();
    command->add_option("-o,--output", output_, "What to write")->required()->type_name("OUT");
    command->add_option("--to", container_, "gguf or safetensors (by OUT's name)")
        ->check(CLI::IsMember({"gguf", "safetensors"}))
        ->type_name("FORMAT");
    command->add_option("--outtype", type_, "f32, f16, bf16, or auto: as in the input")
        ->check(CLI::IsMember({"auto", "f32", "f16", "bf16"}))
        ->type_name("TYPE");
    command
        ->add_option("--shard-size", shard_size_,
                     "Largest file, like 5GB (safetensors: 5GB, GGUF: one file)")
        ->type_name("SIZE");
    command->add_option("--lora", lora_, "Merge this adapter (PEFT folder or GGUF)")
        ->type_name("PATH");
    command->add_option("--lora-scale", lora_scale_, "Multiplies the adapter (1)")->type_name("S");
    command->add_flag("--force", force_, "Replace OUT if it exists");
    command->add_flag("--json", json_, "Print one object");
    add_log_level(*command);
    return command;
  }

  Status run() override {
    INGOT_TRY(const ConvertOptions options, read_options());
    INGOT_TRY(auto checkpoint, open_checkpoint(model_));
    ProgressBar bar("Converting");
    INGOT_TRY(const ConvertReport report,
              convert_model(std::move(checkpoint), options,
                            [&bar](double fraction) { bar.update(fraction); }));
    bar.finish();
    return print_report(report);
  }

 private:
  Result<ConvertOptions> read_options() const {
    ConvertOptions options;
    options.input = model_;
    options.output = output_;
    options.to_gguf = container_.empty() ? output_.ends_with(".gguf") : container_ == "gguf";
    if (type_ != "auto") options.type = layout_named(type_);
    if (!shard_size_.empty()) {
      INGOT_TRY(options.shard_bytes, parse_size(shard_size_, "--shard-size"));
    }
    if (!lora_.empty()) {
      INGOT_TRY(options.adapter, LoraAdapter::open(lora_, lora_scale_));
      options.adapter_identity = fmt::format("lora {}\n{}", lora_scale_, input_identity(lora_));
    }
    options.overwrites = force_;
    return options;
  }

  Status print_report(const ConvertReport& report) const {
    if (json_) {
      return print_json({{"output", output_},
                         {"tensors", report.tensors},
                         {"resumed", report.resumed},
                         {"bytes", report.size_bytes},
                         {"notes", report.notes}});
    }
    std::string text;
    for (const std::string& note : report.notes)
      text += fmt::format("note: {}\n", without_control_characters(note));
    if (report.resumed > 0)
      text += fmt::format("note: {} tensors were there from an earlier run\n", report.resumed);
    text += fmt::format("{}: {} tensors, {:.1f} MB\n", output_, report.tensors,
                        static_cast<double>(report.size_bytes) / 1e6);
    return print(text);
  }

  std::string model_;
  std::string output_;
  std::string container_;
  std::string type_ = "auto";
  std::string shard_size_;
  std::string lora_;
  double lora_scale_ = 1;
  bool force_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_convert_command() {
  return std::make_unique<ConvertCommand>();
}

}  // namespace ingot
