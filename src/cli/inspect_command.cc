// SPDX-License-Identifier: Apache-2.0
// ingot inspect: what is in a checkpoint.
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "api/loaded_model.h"
#include "cli/command.h"
#include "cli/inspect_quality.h"
#include "cli/inspect_report.h"
#include "cli/model_flags.h"
#include "cli/output.h"
#include "cli/style.h"

namespace ingot {
namespace {

constexpr const char* kInspectFooter =
    R"(Reads headers only, so it is quick for any size, and works for architectures that cannot be run;
--outliers and --sensitivity run the model over some text.
Without --summary, --metadata or --tensors it prints all three.

Examples:
  ingot inspect model.gguf
  ingot inspect folder --summary
  ingot inspect folder --outliers --calibration wiki.txt
  ingot inspect model.gguf --json | jq '.tensors[] | select(.type == "Q6_K") | .name')";

class InspectCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    CLI::App* command = app.add_subcommand("inspect", "Show what is in a checkpoint");
    command->footer(kInspectFooter);
    add_model_argument(*command, model_);
    command->add_flag("--summary", summary_, "Architecture, parameters, types and memory");
    command->add_flag("--metadata", metadata_, "The file's key-values, or config.json");
    command->add_flag("--tensors", tensors_, "Every tensor with type and shape");
    command->add_flag("--outliers", outliers_,
                      "Columns of the layers' inputs that stand out, and what rounding loses");
    command->add_flag("--sensitivity", sensitivity_,
                      "How much each matrix, quantized alone, changes the answers");
    command
        ->add_option("--calibration", calibration_.file,
                     "Text or .jsonl for those two (a small built-in mix)")
        ->type_name("FILE");
    command->add_option("--samples", calibration_.samples, "Windows of it, at most (4)")
        ->check(CLI::Range(int64_t{1}, int64_t{1} << 20))
        ->type_name("N");
    command->add_option("--seq-len", calibration_.length, "Tokens of each (512)")
        ->check(CLI::Range(int64_t{8}, int64_t{1} << 20))
        ->type_name("N");
    command->add_option("-t,--threads", threads_, "0: one per usable core")
        ->check(CLI::Range(0, 4096))
        ->type_name("N");
    command->add_flag("--json", json_, "Print all of it as one object");
    add_log_level(*command);
    return command;
  }

  Status run() override {
    INGOT_TRY(const auto checkpoint, open_checkpoint(model_));
    if (outliers_ || sensitivity_) return run_model(checkpoint);
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
  // What takes a run over some text.
  Status run_model(const std::shared_ptr<const Checkpoint>& checkpoint) const {
    Json json = Json::object();
    std::string text;
    if (outliers_) {
      INGOT_TRY(const OutlierReport report,
                measure_outliers(model_, checkpoint, calibration_, threads_));
      json["outliers"] = to_json(report);
      text += describe_outliers(report);
    }
    if (sensitivity_) {
      INGOT_TRY(const SensitivityReport report,
                measure_sensitivities(model_, checkpoint, calibration_, threads_));
      json["sensitivity"] = to_json(report);
      text += (text.empty() ? "" : "\n") + describe_sensitivity(report);
    }
    return json_ ? print_json(json) : print(without_control_characters(text));
  }

  static std::string section(std::string_view title, const std::string& body, bool has_title) {
    std::string clean = without_control_characters(body);
    if (!has_title) return clean;
    return styled(title, Style::kBold, STDOUT_FILENO) + "\n" + clean + "\n";
  }

  std::string model_ = "default";
  bool summary_ = false;
  bool metadata_ = false;
  bool tensors_ = false;
  bool outliers_ = false;
  bool sensitivity_ = false;
  CalibrationFlags calibration_{{}, 4, 512};
  int threads_ = 0;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_inspect_command() {
  return std::make_unique<InspectCommand>();
}

}  // namespace ingot
