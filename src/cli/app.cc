// SPDX-License-Identifier: Apache-2.0
#include "cli/app.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cctype>
#include <cstdio>

#include "base/cpu.h"
#include "cli/help_formatter.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/style.h"
#include "kernels/target.h"

namespace ingot {
namespace {

constexpr int kInterruptedExitCode = 130;  // as a shell's for SIGINT

constexpr const char* kAppFooter =
    R"(MODEL is a GGUF file, a folder with safetensors, or `default`, the small model inside this program.

Examples:
  ingot run                                  chat with the default model
  ingot run model.gguf --temp 0.7            chat with a model of yours
  ingot serve model.gguf                     OpenAI's API on http://127.0.0.1:8080
  ingot generate model.gguf -p "Once" -n 50  complete a text
  ingot inspect model.gguf                   what is in the file
  ingot COMMAND --help                       all flags of a command)";

void print_error(std::string_view message) {
  if (message.empty()) return;  // the reader of our output left: nobody wants to know
  const std::string text = fmt::format("{} {}\n", styled("ingot:", Style::kError, STDERR_FILENO),
                                       without_control_characters(message));
  std::fwrite(text.data(), 1, text.size(), stderr);
}

std::string version_text() {
  return fmt::format("ingot {}\ntargets: {}\ncpu: {}", INGOT_VERSION,
                     TargetSet::of_this_machine().to_string(), describe_cpu());
}

// CLI11 begins its messages with a capital and ends some with a line break.
std::string as_sentence(std::string text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0)
    text.pop_back();
  if (text.size() > 1 && std::islower(static_cast<unsigned char>(text[1])) != 0)
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

}  // namespace

int exit_code(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk:
      return 0;
    case StatusCode::kCancelled:
    case StatusCode::kRefused:
    case StatusCode::kInternal:
      return 1;
    default:
      return 2;
  }
}

CommandLine::CommandLine()
    : app_("ingot: run language models from their files, on this machine.", "ingot") {
  app_.footer(kAppFooter);
  app_.require_subcommand(0, 1);
  app_.set_version_flag("--version", version_text, "Version, kernel targets and processor");
  const auto formatter = std::make_shared<HelpFormatter>();
  formatter->column_width(36);
  app_.formatter(formatter);
  for (const auto make :
       {make_run_command, make_serve_command, make_generate_command, make_inspect_command,
        make_tokenize_command, make_detokenize_command, make_template_command,
        make_quantize_command, make_convert_command, make_verify_command, make_imatrix_command,
        make_eval_command, make_perplexity_command, make_bench_command, make_completion_command}) {
    Entry entry{make(), nullptr};
    entry.parser = entry.command->add_to(app_);
    commands_.push_back(std::move(entry));
  }
}

int CommandLine::report_usage(const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) {  // --help, --version
    const bool is_version = error.get_name() == "CallForVersion";
    return exit_code(print(is_version ? version_text() + "\n" : app_.help()));
  }
  std::string command = "ingot";
  for (const CLI::App* chosen = &app_; !chosen->get_subcommands().empty();) {
    chosen = chosen->get_subcommands().front();
    command += " " + chosen->get_name();
  }
  print_error(fmt::format("{}; see '{} --help'", as_sentence(error.what()), command));
  return 2;
}

int CommandLine::run(int argc, const char* const* argv) {
  try {
    app_.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return report_usage(error);
  } catch (const std::exception& error) {
    print_error(error.what());
    return 2;
  }
  for (const Entry& entry : commands_) {
    if (!entry.parser->parsed()) continue;
    const Status status = entry.command->run();
    if (!status.is_ok()) print_error(status.message());
    if (status.code() == StatusCode::kCancelled && InterruptScope::was_pressed())
      return kInterruptedExitCode;
    return exit_code(status);
  }
  return exit_code(print(app_.help()));
}

}  // namespace ingot
