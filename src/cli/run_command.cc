// SPDX-License-Identifier: Apache-2.0
// ingot run: chat with a model in the terminal.
#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>

#include "api/text_engine.h"
#include "cli/chat_loop.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "cli/environment.h"
#include "cli/model_flags.h"
#include "cli/output.h"
#include "cli/read_input.h"
#include "cli/sampling_flags.h"
#include "cli/style.h"

namespace ingot {
namespace {

constexpr const char* kRunFooter =
    R"(Inside: /help lists the commands, Ctrl-C stops an answer, Ctrl-D leaves. Where standard input is no
terminal, each line is a message.

Examples:
  ingot run
  ingot run model.gguf --system "You are brief." --temp 0.7
  ingot run model.gguf --prompt "Why is the sky blue?"
  printf 'Hello\nTell me more\n' | ingot run model.gguf)";

class RunCommand : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override {
    CLI::App* command = app.add_subcommand("run", "Chat with a model in the terminal");
    command->footer(kRunFooter);
    add_model_flags(*command, model_);
    prompt_option_ =
        command->add_option("-p,--prompt", prompt_, "Ask this once, print the answer, leave")
            ->type_name("TEXT");
    command->add_option("--system", options_.system, "System message")->type_name("TEXT");
    command
        ->add_option("-n,--max-tokens", options_.max_tokens,
                     "Most tokens of an answer (-1: no limit)")
        ->check(CLI::Range(int64_t{-1}, int64_t{1} << 40))
        ->type_name("N");
    command
        ->add_option("--chat-template", template_file_,
                     "Use this Jinja file instead of the model's")
        ->type_name("FILE");
    command->add_flag("-v,--verbose", verbose_, "Print the speed after each answer");
    command->add_flag("--no-history", no_history_,
                      "Neither read nor write the history of what was typed");
    add_sampling_flags(*command, sampling_);
    return command;
  }

  Status run() override {
    if (!template_file_.empty()) {
      INGOT_TRY(options_.chat_template, read_text(template_file_));
    }
    INGOT_TRY(LoadedModel loaded, load_model(model_));
    INGOT_TRY(options_.sampling,
              sampling_of(sampling_, loaded.sampling, loaded.text.tokenizer.get()));
    EngineCliFlags flags;
    flags.engine.max_num_seqs = 1;
    INGOT_TRY(const EngineFlags engine_options, engine_flags(flags, model_));
    INGOT_TRY(const std::unique_ptr<TextEngine> engine,
              start_engine(std::move(loaded), engine_options));
    const LoadedModel& model = engine->model();
    INGOT_TRY(ChatSession session, ChatSession::create(*engine, options_));
    LineHistory history(history_file());
    ChatLoop loop(session, model, history, verbose_);
    if (prompt_option_->count() > 0) return loop.ask_once(prompt_);
    greet(model);
    return loop.run();
  }

 private:
  std::optional<std::filesystem::path> history_file() const {
    const auto folder = environment::state_folder();
    if (no_history_ || !folder || !is_terminal(STDIN_FILENO)) return std::nullopt;
    return *folder / "history";
  }

  static void greet(const LoadedModel& model) {
    if (!is_terminal(STDIN_FILENO) || !is_terminal(STDERR_FILENO)) return;
    const std::string text = fmt::format(
        "{}: {}, {:.1f} M parameters. /help lists the commands, Ctrl-D leaves.", model.name,
        model.model->spec().architecture, static_cast<double>(model.model->parameters()) / 1e6);
    fmt::print(stderr, "{}\n", styled(text, Style::kDim, STDERR_FILENO));
  }

  ModelFlags model_;
  SamplingFlags sampling_;
  ChatOptions options_;
  std::string prompt_;
  std::string template_file_;
  const CLI::Option* prompt_option_ = nullptr;
  bool verbose_ = false;
  bool no_history_ = false;
};

}  // namespace

std::unique_ptr<Command> make_run_command() {
  return std::make_unique<RunCommand>();
}

}  // namespace ingot
