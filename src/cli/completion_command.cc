// SPDX-License-Identifier: Apache-2.0
// ingot completion: a script that teaches the shell our commands and flags.

#include "cli/command.h"
#include "cli/completion.h"
#include "cli/output.h"

namespace ingot {
namespace {

constexpr const char* kCompletionFooter = R"(Examples:
  source <(ingot completion bash)
  ingot completion zsh > ~/.zfunc/_ingot
  ingot completion fish > ~/.config/fish/completions/ingot.fish)";

class CompletionCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    CLI::App* command = app.add_subcommand("completion", "Print a completion script for a shell");
    command->footer(kCompletionFooter);
    command->add_option("SHELL", shell_, "bash, zsh or fish")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh", "fish"}))
        ->type_name("");
    app_ = &app;
    return command;
  }

  Status run() override { return print(completion_script(*app_, shell_)); }

 private:
  const CLI::App* app_ = nullptr;
  std::string shell_;
};

}  // namespace

std::unique_ptr<Command> make_completion_command() {
  return std::make_unique<CompletionCommand>();
}

}  // namespace ingot
