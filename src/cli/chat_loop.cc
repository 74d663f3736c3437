// SPDX-License-Identifier: Apache-2.0
#include "cli/chat_loop.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>

#include "cli/chat_input.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/run_stats.h"
#include "cli/style.h"

namespace ingot {
namespace {

void note(std::string_view text) {
  fmt::print(stderr, "{}\n", styled(text, Style::kDim, STDERR_FILENO));
}

RunStats stats_of(const ChatTurn& turn) {
  return {.prompt_tokens = turn.prompt_tokens,
          .reused_tokens = turn.reused_tokens,
          .answer_tokens = turn.answer_tokens,
          .prompt_seconds = turn.prompt_seconds,
          .decode_seconds = turn.decode_seconds};
}

}  // namespace

ChatLoop::ChatLoop(ChatSession& session, const LoadedModel& model, LineHistory& history,
                   bool shows_stats)
    : session_(session),
      history_(history),
      editor_(history),
      state_{session, model, shows_stats, {}} {}

Status ChatLoop::run() {
  while (true) {
    INGOT_TRY(const std::optional<std::string> message, next_message());
    if (!message) return Status::ok();
    if (message->find_first_not_of(" \t\n") == std::string::npos) continue;
    const Result<ChatStep> step = handle(*message);
    if (step.is_ok() && *step == ChatStep::kExit) return Status::ok();
    if (step.is_ok()) continue;
    if (!editor_.is_interactive() || step.status().code() == StatusCode::kCancelled)
      return step.status();
    note(fmt::format("ingot: {}", step.status().message()));
  }
}

Status ChatLoop::ask_once(const std::string& message) {
  return answer(&message);
}

Result<std::optional<std::string>> ChatLoop::next_message() {
  const std::string first = styled(">>> ", Style::kPrompt, STDOUT_FILENO);
  const std::string more = styled("... ", Style::kPrompt, STDOUT_FILENO);
  MessageLines lines;
  while (true) {
    INGOT_TRY(const ReadLine line, editor_.read(lines.is_open() ? more : first));
    if (line.end == LineEnd::kEndOfFile) return lines.finish();
    if (line.end == LineEnd::kInterrupt) {
      const bool is_empty = line.text.empty() && !lines.is_open();
      if (is_empty && was_interrupted_) return std::optional<std::string>();
      if (is_empty) note("(Ctrl-C again, Ctrl-D or /exit leaves)");
      was_interrupted_ = is_empty;
      lines.reset();
      continue;
    }
    was_interrupted_ = false;
    // Text with line breaks of its own (a paste) is a message as it stands.
    std::optional<std::string> message =
        line.text.find('\n') != std::string::npos && !lines.is_open() ? line.text
                                                                      : lines.add(line.text);
    if (!message) continue;
    if (editor_.is_interactive()) history_.add(*message);
    return message;
  }
}

Result<ChatStep> ChatLoop::handle(const std::string& message) {
  if (!is_chat_command(message)) {
    INGOT_TRY(answer(&message));
    return ChatStep::kNext;
  }
  INGOT_TRY(const ChatStep step, run_chat_command(message, state_));
  INGOT_TRY(print(state_.output));
  if (step == ChatStep::kRegenerate) INGOT_TRY(answer(nullptr));
  return step;
}

Status ChatLoop::answer(const std::string* message) {
  const InterruptScope interrupt;
  const bool is_screen = is_terminal(STDOUT_FILENO);
  Status written;
  const OnText on_text = [&](std::string_view piece) {
    written = print(is_screen ? without_control_characters(piece) : std::string(piece));
    return written.is_ok() && !InterruptScope::was_pressed();
  };
  const Result<ChatTurn> turn =
      message != nullptr ? session_.ask(*message, on_text) : session_.regenerate(on_text);
  INGOT_TRY(std::move(written));
  if (!turn.is_ok()) return turn.status();
  INGOT_TRY(print("\n"));
  if (turn->finish == FinishReason::kCancelled) note("(stopped)");
  if (turn->finish == FinishReason::kLength) note("(cut off: the limit of tokens is reached)");
  if (turn->dropped_messages > 0)
    note(fmt::format("({} old messages no longer fit the context)", turn->dropped_messages));
  if (state_.shows_stats) note(describe(stats_of(*turn)));
  return Status::ok();
}

}  // namespace ingot
