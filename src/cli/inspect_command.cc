// SPDX-License-Identifier: Apache-2.0
// ingot inspect: what is in a checkpoint.
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "api/loaded_model.h"
#include "cli/command.h"
#include "cli/inspect_report.h"
#include "cli/model_flags.h"
#include "cli/output.h"
#include "cli/style.h"

namespace ingot {
namespace {

constexpr const char* kFooter =
    R"(Reads headers only, so it is quick for any size, and works for architectures that cannot be run.
Without --summary, --metadata or --tensors it prints all three.

Examples:
  ingot inspect model.gguf
  ingot inspect folder --summary
  ingot inspect model.gguf --json | jq '.tensors[] | select(.type == "Q6_K") | .name')";

class InspectCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    CLI::App* command = app.add_subcommand("inspect", "Show what is in a checkpoint");
    command->footer(kFooter);
    add_model_argument(*command, model_);
    command->add_flag("--summary", summary_, "Architecture, parameters, types and memory");
    command->add_flag("--metadata", metadata_, "The file's key-values, or config.json");
    command->add_flag("--tensors", tensors_, "Every tensor with type and shape");
    command->add_flag("--json", json_, "Print all of it as one object");
    add_log_level(*command);
    return command;
  }

  Status run() override {
    INGOT_TRY(const auto checkpoint, open_checkpoint(model_));
    const InspectReport report = inspect(*checkpoint);
    if (json_) return print_json(to_json(report, *checkpoint));
    const bool is_all = !summary_ && !metadata_ && !tensors_;
    std::string text;
    if (is_all || summary_) text += section("Summary", describe_summary(report), is_all);
    if (is_all || metadata_) text += section("Metadata", describe_metadata(report), is_all);
    if (is_all || tensors_) text += section("Tensors", describe_tensors(*checkpoint), is_all);
    return print(text);
  }

 private:
  static std::string section(std::string_view title, const std::string& body, bool has_title) {
    std::string clean = without_control_characters(body);
    if (!has_title) return clean;
    return styled(title, Style::kBold, STDOUT_FILENO) + "\n" + clean + "\n";
  }

  std::string model_ = "default";
  bool summary_ = false;
  bool metadata_ = false;
  bool tensors_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_inspect_command() {
  return std::make_unique<InspectCommand>();
}

}  // namespace ingot
