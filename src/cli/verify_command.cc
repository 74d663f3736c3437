// SPDX-License-Identifier: Apache-2.0
// ingot verify: is a checkpoint whole, and is it the same as another?
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/loaded_model.h"
#include "base/checksum.h"
#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/output.h"
#include "cli/progress_bar.h"
#include "convert/verify.h"
#include "engine/page_key.h"

namespace ingot {
namespace {

constexpr const char* kVerifyFooter =
    R"(Reads every byte: structure, index and shards, every weight the architecture needs with its shape,
NaN and infinite values. --against compares tensor by tensor, also GGUF with safetensors. The exit
code is 0 when all is well, else 1.

Examples:
  ingot verify model.gguf
  ingot verify model.gguf --against folder        the same values?
  ingot verify folder --sha256 --json > sums.json)";

std::string hex(std::span<const uint8_t> bytes) {
  std::string text;
  for (const uint8_t byte : bytes)
    text += fmt::format("{:02x}", byte);
  return text;
}

class VerifyCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    CLI::App* command = app.add_subcommand("verify", "Check that a checkpoint is whole and sound");
    command->footer(kVerifyFooter);
    add_model_argument(*command, model_);
    command->add_option("--against", against_, "Compare with this model")->type_name("MODEL");
    command
        ->add_option("--tolerance", tolerance_,
                     "Largest difference allowed, relative to a tensor's largest value (0)")
        ->check(CLI::NonNegativeNumber)
        ->type_name("X");
    command->add_flag("--sha256", sha256_, "SHA-256 of every tensor (else XXH64)");
    command->add_flag("--tensors", lists_, "Print every tensor");
    command->add_flag("--json", json_, "Print one object");
    add_log_level(*command);
    return command;
  }

  Status run() override {
    INGOT_TRY(const auto checkpoint, open_checkpoint(model_));
    VerifyOptions options;
    options.hash = [this](std::span<const std::byte> bytes) {
      return sha256_ ? hex(sha256(bytes).bytes) : fmt::format("{:016x}", checksum64(bytes));
    };
    if (!against_.empty()) {
      INGOT_TRY(options.against, open_checkpoint(against_));
    }
    options.tolerance = tolerance_;
    ProgressBar bar("Verifying");
    options.progress = [&bar](double fraction) { bar.update(fraction); };
    INGOT_TRY(const VerifyReport report, verify_model(checkpoint, options));
    bar.finish();
    INGOT_TRY(json_ ? print_json(to_json(report)) : print(describe(report)));
    if (report.problems.empty()) return Status::ok();
    return Status::refused("{}: {} problem{}", model_, report.problems.size(),
                           report.problems.size() == 1 ? "" : "s");
  }

 private:
  static Json to_json(const VerifyReport& report) {
    Json tensors = Json::array();
    for (const VerifiedTensor& tensor : report.tensors) {
      Json entry = {{"name", tensor.name},
                    {"type", tensor.type},
                    {"shape", tensor.shape},
                    {"hash", tensor.hash},
                    {"finite", tensor.is_finite}};
      if (tensor.is_compared) {
        entry["identical"] = tensor.is_identical;
        entry["max_difference"] = tensor.max_difference;
      }
      tensors.push_back(std::move(entry));
    }
    return {{"ok", report.problems.empty()},
            {"problems", report.problems},
            {"notes", report.notes},
            {"tensors", std::move(tensors)}};
  }

  std::string describe(const VerifyReport& report) const {
    std::string text;
    size_t compared = 0;
    size_t identical = 0;
    double worst = 0;
    for (const VerifiedTensor& tensor : report.tensors) {
      compared += tensor.is_compared ? 1 : 0;
      identical += tensor.is_identical ? 1 : 0;
      worst = std::max(worst, tensor.max_difference);
      if (!lists_) continue;
      text += fmt::format("{}  {}  {} {}{}\n", tensor.hash, tensor.name, tensor.type, tensor.shape,
                          !tensor.is_compared ? ""
                          : tensor.is_identical
                              ? "  identical"
                              : fmt::format("  max difference {:.3g}", tensor.max_difference));
    }
    for (const std::string& note : report.notes)
      text += fmt::format("note: {}\n", note);
    for (const std::string& problem : report.problems)
      text += fmt::format("problem: {}\n", problem);
    text += fmt::format("{}: {} tensors, {}\n", model_, report.tensors.size(),
                        report.problems.empty() ? "all sound" : "not sound");
    if (!against_.empty()) {
      text += fmt::format(
          "against {}: {} compared, {} with the same bytes, largest difference {:.3g}\n", against_,
          compared, identical, worst);
    }
    return without_control_characters(text);
  }

  std::string model_ = "default";
  std::string against_;
  double tolerance_ = 0;
  bool sha256_ = false;
  bool lists_ = false;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_verify_command() {
  return std::make_unique<VerifyCommand>();
}

}  // namespace ingot
