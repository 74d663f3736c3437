// SPDX-License-Identifier: Apache-2.0
#include "cli/chat_commands.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "cli/sampling_flags.h"

namespace ingot {
namespace {

using Handler = Result<ChatStep> (*)(std::string_view argument, ChatState& state);

struct ChatCommand {
  std::string_view name;
  std::string_view argument;
  std::string_view help;
  Handler handler;
};

std::string_view trimmed_argument(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\n") - begin + 1);
}

Result<ChatStep> leave(std::string_view, ChatState&) {
  return ChatStep::kExit;
}

Result<ChatStep> answer_again(std::string_view, ChatState&) {
  return ChatStep::kRegenerate;
}

Result<ChatStep> forget(std::string_view, ChatState& state) {
  state.session.reset();
  state.output = "The conversation is forgotten.\n";
  return ChatStep::kNext;
}

Result<ChatStep> set_system(std::string_view argument, ChatState& state) {
  std::string& system = state.session.options().system;
  if (argument.empty()) {
    state.output = system.empty() ? "There is no system message.\n" : system + "\n";
    return ChatStep::kNext;
  }
  system = argument == "\"\"" ? "" : std::string(argument);
  state.output = "The system message is set.\n";
  return ChatStep::kNext;
}

Result<ChatStep> set_parameter(std::string_view argument, ChatState& state) {
  const size_t space = argument.find_first_of(" \t=");
  if (space == std::string_view::npos)
    return Status::invalid_argument("write it as /set PARAM VALUE; /show lists the parameters");
  const std::string_view name = argument.substr(0, space);
  const std::string_view value = trimmed_argument(argument.substr(space + 1));
  if (name != "max_tokens" && name != "max-tokens") {
    INGOT_TRY(set_sampling(state.session.options().sampling, name, value));
    return ChatStep::kNext;
  }
  int64_t tokens = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), tokens);
  if (error != std::errc() || end != value.data() + value.size() || tokens < -1)
    return Status::invalid_argument("max-tokens: '{}' is not a count; -1 is no limit", value);
  state.session.options().max_tokens = tokens;
  return ChatStep::kNext;
}

Result<ChatStep> show(std::string_view, ChatState& state) {
  const ModelSpec& spec = state.model.model->spec();
  state.output = fmt::format("{:<18} {} ({}, {} parameters)\n", "model", state.model.name,
                             spec.architecture, state.model.model->parameters());
  for (const auto& [name, value] : list_sampling(state.session.options().sampling))
    state.output += fmt::format("{:<18} {}\n", name, value);
  state.output += fmt::format("{:<18} {}\n", "max-tokens", state.session.options().max_tokens);
  state.output += fmt::format("{:<18} {}\n", "messages", state.session.messages().size());
  return ChatStep::kNext;
}

Result<ChatStep> save(std::string_view argument, ChatState& state) {
  if (argument.empty()) return Status::invalid_argument("write it as /save FILE");
  Json messages = Json::array();
  const std::string& system = state.session.options().system;
  if (!system.empty()) messages.push_back({{"role", "system"}, {"content", system}});
  for (const Json& message : state.session.messages())
    messages.push_back(message);
  INGOT_TRY(AtomicFile file, AtomicFile::create(std::filesystem::path(argument)));
  INGOT_TRY(file.write(dump_json(messages, 2) + "\n"));
  INGOT_TRY(file.commit());
  state.output = fmt::format("{} messages saved to {}.\n", messages.size(), argument);
  return ChatStep::kNext;
}

Result<ChatStep> load(std::string_view argument, ChatState& state) {
  if (argument.empty()) return Status::invalid_argument("write it as /load FILE");
  INGOT_TRY(Json messages, read_json_file(std::filesystem::path(argument)));
  if (!messages.is_array()) return Status::invalid_data("{}: not an array of messages", argument);
  Json turns = Json::array();
  std::string system;
  for (const Json& message : messages) {
    const bool is_message = message.is_object() && message.contains("role") &&
                            message["role"].is_string() && message.contains("content");
    if (!is_message)
      return Status::invalid_data("{}: a message has no \"role\" and \"content\"", argument);
    if (message["role"] == "system" && message["content"].is_string())
      system = message["content"].get<std::string>();
    else
      turns.push_back(message);
  }
  state.output = fmt::format("{} messages loaded.\n", messages.size());
  state.session.options().system = system;
  state.session.set_messages(std::move(turns));
  return ChatStep::kNext;
}

Result<ChatStep> toggle_stats(std::string_view, ChatState& state) {
  state.shows_stats = !state.shows_stats;
  state.output = state.shows_stats ? "Speed is shown after each answer.\n" : "Speed is hidden.\n";
  return ChatStep::kNext;
}

Result<ChatStep> help(std::string_view argument, ChatState& state);

constexpr std::array<ChatCommand, 13> kCommands = {{
    {"/help", "", "This list", help},
    {"/exit", "", "Leave (also /bye, /quit, Ctrl-D)", leave},
    {"/bye", "", "", leave},
    {"/quit", "", "", leave},
    {"/reset", "", "Forget the conversation, keep the system message (also /clear)", forget},
    {"/clear", "", "", forget},
    {"/system", "TEXT", "Set the system message; \"\" removes it, nothing shows it", set_system},
    {"/regenerate", "", "Answer the last message again", answer_again},
    {"/set", "PARAM VALUE", "Change a sampling parameter, e.g. /set temp 0.5", set_parameter},
    {"/show", "", "The model and the parameters in use", show},
    {"/save", "FILE", "Write the conversation as JSON", save},
    {"/load", "FILE", "Go on with a saved conversation", load},
    {"/stats", "", "Show or hide the speed of each answer", toggle_stats},
}};

Result<ChatStep> help(std::string_view, ChatState& state) {
  for (const ChatCommand& command : kCommands) {
    if (command.help.empty()) continue;
    state.output += fmt::format("  {:<18} {}\n",
                                fmt::format("{} {}", command.name, command.argument), command.help);
  }
  state.output +=
      "\nEnter sends. A line break: Ctrl-J or Alt-Enter, a \\ at the end of the line, or \"\"\" "
      "around\nseveral lines. Ctrl-C stops an answer.\n";
  return ChatStep::kNext;
}

}  // namespace

// "/etc/hosts says ..." is a message; a command is one word of letters.
bool is_chat_command(std::string_view message) {
  if (!message.starts_with('/')) return false;
  const std::string_view word = message.substr(1, message.find_first_of(" \t\n") - 1);
  return word.find_first_of("/.") == std::string_view::npos && !word.empty();
}

Result<ChatStep> run_chat_command(std::string_view message, ChatState& state) {
  state.output.clear();
  const size_t space = std::min(message.find_first_of(" \t\n"), message.size());
  const std::string_view name = message.substr(0, space);
  const auto* found = std::ranges::find(kCommands, name, &ChatCommand::name);
  if (found == kCommands.end())
    return Status::invalid_argument("there is no command {}; /help lists them", name);
  return found->handler(trimmed_argument(message.substr(space)), state);
}

}  // namespace ingot
