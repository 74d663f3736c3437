// SPDX-License-Identifier: Apache-2.0
#include "api/render_prompt.h"

namespace ingot {
namespace {

std::string content_of(const Json& message) {
  const auto content = message.find("content");
  return content != message.end() && content->is_string() ? content->get<std::string>() : "";
}

std::string render_plain(const Json& messages) {
  std::string text;
  for (const Json& message : messages) {
    if (has_role(message, "system")) {
      text += content_of(message) + "\n\n";
    } else {
      text += has_role(message, "assistant") ? "Assistant: " : "User: ";
      text += content_of(message) + "\n";
    }
  }
  return text + "Assistant:";
}

// The system message as the opening of the first user message.
Json with_system_merged(const Json& messages) {
  Json merged = Json::array();
  const std::string system = content_of(messages.front());
  bool is_placed = false;
  for (size_t i = 1; i < messages.size(); ++i) {
    merged.push_back(messages[i]);
    if (is_placed || !has_role(messages[i], "user")) continue;
    merged.back()["content"] = system + "\n\n" + content_of(messages[i]);
    is_placed = true;
  }
  return merged;
}

Result<Json> parse_field(std::string_view text, std::string_view field) {
  Result<Json> value = parse_json(text, field);
  if (!value.is_ok()) return Status::invalid_argument("{}", value.status().message());
  return value;
}

// Without what the template writes after the last message. Templates may trim the content.
Result<std::string> cut_after(std::string prompt, std::string_view content) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t begin = content.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos)
    return Status::invalid_argument("continue_final_message needs a last message with text");
  const size_t full = prompt.rfind(content);
  const std::string_view trimmed =
      content.substr(begin, content.find_last_not_of(kBlanks) + 1 - begin);
  const std::string_view found = full != std::string::npos ? content : trimmed;
  const size_t at = prompt.rfind(found);
  if (at == std::string::npos) {
    return Status::invalid_argument(
        "continue_final_message: the template does not show the last message as it is");
  }
  prompt.resize(at + found.size());
  return prompt;
}

}  // namespace

bool has_role(const Json& message, std::string_view role) {
  const auto found = message.find("role");
  return found != message.end() && found->is_string() &&
         found->get_ref<const std::string&>() == role;
}

Result<std::string> render_chat(const ChatTemplate* chat_template, const TextSide& text,
                                const Json& messages) {
  if (chat_template == nullptr) return render_plain(messages);
  ChatInput input;
  input.messages = messages;
  input.bos_token = text.bos_token;
  input.eos_token = text.eos_token;
  Result<std::string> prompt = chat_template->render(input);
  const bool begins_with_system = !messages.empty() && has_role(messages.front(), "system");
  if (prompt.is_ok() || prompt.status().code() != StatusCode::kRefused || !begins_with_system)
    return prompt;
  input.messages = with_system_merged(messages);
  return chat_template->render(input);
}

Result<std::string> render_messages(const ChatTemplate& chat_template, const TextSide& text,
                                    const MessagesJson& json) {
  ChatInput input;
  INGOT_TRY(input.messages, parse_field(json.messages, "messages"));
  if (!input.messages.is_array() || input.messages.empty())
    return Status::invalid_argument("messages is not a list of at least one message");
  if (!json.tools.empty()) {
    INGOT_TRY(input.tools, parse_field(json.tools, "tools"));
  }
  if (!json.template_kwargs.empty()) {
    INGOT_TRY(input.kwargs, parse_field(json.template_kwargs, "chat_template_kwargs"));
  }
  input.bos_token = text.bos_token;
  input.eos_token = text.eos_token;
  input.add_generation_prompt = json.add_generation_prompt && !json.continue_final_message;
  INGOT_TRY(std::string prompt, chat_template.render(input));
  if (!json.continue_final_message) return prompt;
  return cut_after(std::move(prompt), content_of(input.messages.back()));
}

}  // namespace ingot
