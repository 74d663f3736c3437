// SPDX-License-Identifier: Apache-2.0
#include "api/anthropic_messages.h"

#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>

#include "api/json_values.h"
#include "base/limits.h"

namespace ingot {
namespace {

// A field that must be a string of a bounded size.
Result<std::string> name_in(const Json& object, const char* key) {
  const Json* value = find(object, key);
  if (value == nullptr) return Status::invalid_argument("has no {}", key);
  Result<std::string> text = text_of(*value, limits::kRequestNameBytes);
  if (!text.is_ok()) return text.status().with_context(key);
  if (text->empty()) return Status::invalid_argument("has an empty {}", key);
  return text;
}

Result<std::string_view> type_of(const Json& block) {
  const Json* type = block.is_object() ? find(block, "type") : nullptr;
  if (type == nullptr || !type->is_string())
    return Status::invalid_argument("must be an object with a type");
  return std::string_view(type->get_ref<const std::string&>());
}

// A block that is not text where only text can be.
Status wrong_type(std::string_view type, std::string_view expected) {
  return Status::unsupported("has the type '{}'; {}", type.substr(0, limits::kRequestStringBytes),
                             expected);
}

Result<std::string_view> text_in(const Json& block, const char* key) {
  const Json* text = find(block, key);
  if (text == nullptr || !text->is_string())
    return Status::invalid_argument("has no {} that is a string", key);
  return std::string_view(text->get_ref<const std::string&>());
}

void append_line(Json& text, std::string_view line) {
  auto& target = text.get_ref<std::string&>();
  if (!target.empty()) target += '\n';
  target += line;
}

// The text of a string or of a list of text blocks: system prompts, results of tools.
Result<std::string> plain_text(const Json& content) {
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) return Status::invalid_argument(" must be a string or a list of blocks");
  Json text = "";
  for (size_t i = 0; i < content.size(); ++i) {
    const auto at = [&](const Status& status) {
      return Status(status.code(), fmt::format("[{}] {}", i, status.message()));
    };
    const Result<std::string_view> type = type_of(content[i]);
    if (!type.is_ok()) return at(type.status());
    if (*type != "text") return at(wrong_type(*type, "only 'text' is supported here"));
    const Result<std::string_view> line = text_in(content[i], "text");
    if (!line.is_ok()) return at(line.status());
    append_line(text, *line);
  }
  return text.get<std::string>();
}

class Conversation {
 public:
  Status add_system(const Json& system) {
    const Result<std::string> text = plain_text(system);
    if (!text.is_ok()) return text.status();
    if (!text->empty()) messages_.push_back({{"role", "system"}, {"content", *text}});
    return Status::ok();
  }

  Status add(const Json& message) {
    if (!message.is_object()) return Status::invalid_argument(" must be an object");
    const Json* role = find(message, "role");
    const Json* content = find(message, "content");
    if (role == nullptr || (*role != "user" && *role != "assistant" && *role != "system"))
      return Status::invalid_argument(".role must be 'user', 'assistant' or 'system'");
    if (content == nullptr) return Status::invalid_argument(".content is missing");
    if (*role == "system") return at_content(add_system(*content));
    is_assistant_ = *role == "assistant";
    if (content->is_string()) {
      append_line(turn()["content"], content->get_ref<const std::string&>());
      return Status::ok();
    }
    if (!content->is_array())
      return Status::invalid_argument(".content must be a string or a list of blocks");
    if (content->empty()) return Status::invalid_argument(".content is empty");
    for (size_t i = 0; i < content->size(); ++i) {
      const Status status = add_block((*content)[i]);
      if (!status.is_ok())
        return Status(status.code(), fmt::format(".content[{}] {}", i, status.message()));
    }
    return Status::ok();
  }

  Json take() { return std::move(messages_); }
  bool ends_with_assistant() const {
    return !messages_.empty() && messages_.back()["role"] == "assistant";
  }

 private:
  static Status at_content(const Status& status) {
    if (status.is_ok()) return status;
    return Status(status.code(), ".content" + status.message());
  }

  // The message that is being said: the last one, when it is of the same speaker.
  Json& turn() {
    const char* role = is_assistant_ ? "assistant" : "user";
    if (messages_.empty() || messages_.back()["role"] != role)
      messages_.push_back({{"role", role}, {"content", ""}});
    return messages_.back();
  }

  Status add_block(const Json& block) {
    INGOT_TRY(const std::string_view type, type_of(block));
    if (type == "text") {
      INGOT_TRY(const std::string_view text, text_in(block, "text"));
      append_line(turn()["content"], text);
      return Status::ok();
    }
    if (!is_assistant_ && type == "tool_result") return add_result(block);
    if (is_assistant_ && type == "tool_use") return add_call(block);
    if (is_assistant_ && type == "thinking") return add_thinking(block);
    if (is_assistant_ && type == "redacted_thinking") return Status::ok();  // readable by its maker
    return wrong_type(type, is_assistant_ ? "an assistant's are 'text', 'tool_use' and 'thinking'"
                                          : "a user's are 'text' and 'tool_result'");
  }

  // Under the name that templates of thinking models look for.
  Status add_thinking(const Json& block) {
    INGOT_TRY(const std::string_view text, text_in(block, "thinking"));
    Json& message = turn();
    if (!message.contains("reasoning_content")) message["reasoning_content"] = "";
    append_line(message["reasoning_content"], text);
    return Status::ok();
  }

  Status add_call(const Json& block) {
    INGOT_TRY(std::string id, name_in(block, "id"));
    INGOT_TRY(std::string name, name_in(block, "name"));
    const Json* input = find(block, "input");
    if (input == nullptr || !input->is_object())
      return Status::invalid_argument("has no input that is an object");
    names_.insert_or_assign(id, name);
    Json& message = turn();
    if (!message.contains("tool_calls")) message["tool_calls"] = Json::array();
    message["tool_calls"].push_back(
        {{"id", std::move(id)},
         {"type", "function"},
         {"function", {{"name", std::move(name)}, {"arguments", *input}}}});
    return Status::ok();
  }

  // Errors of a tool are told by its text: no template knows is_error.
  Status add_result(const Json& block) {
    INGOT_TRY(std::string id, name_in(block, "tool_use_id"));
    const Json* content = find(block, "content");
    Result<std::string> text = content != nullptr ? plain_text(*content) : std::string();
    if (!text.is_ok()) {
      return Status(text.status().code(),
                    "is a tool_result whose content" + text.status().message());
    }
    Json message = {{"role", "tool"}, {"content", *std::move(text)}};
    if (const auto name = names_.find(id); name != names_.end()) message["name"] = name->second;
    message["tool_call_id"] = std::move(id);
    messages_.push_back(std::move(message));
    return Status::ok();
  }

  Json messages_ = Json::array();
  bool is_assistant_ = false;
  std::unordered_map<std::string, std::string> names_;  // of the tools, by the call's id
};

Result<Json> function_of(const Json& tool) {
  if (!tool.is_object()) return Status::invalid_argument("must be an object");
  if (const Json* type = find(tool, "type"); type != nullptr && *type != "custom") {
    if (!type->is_string()) return Status::invalid_argument("has a type that is no string");
    return wrong_type(type->get_ref<const std::string&>(),
                      "only tools of the client ('custom') are supported");
  }
  INGOT_TRY(std::string name, name_in(tool, "name"));
  const Json* schema = find(tool, "input_schema");
  if (schema == nullptr || !schema->is_object())
    return Status::invalid_argument("has no input_schema that is an object");
  if (const Json* strict = find(tool, "strict"); strict != nullptr && *strict != false)
    return Status::unsupported("is strict, but output cannot be constrained yet");
  Json function = {{"name", std::move(name)}};
  if (const Json* description = find(tool, "description"); description != nullptr) {
    if (!description->is_string())
      return Status::invalid_argument("has a description that is no string");
    function["description"] = *description;
  }
  function["parameters"] = *schema;
  return Json{{"type", "function"}, {"function", std::move(function)}};
}

}  // namespace

Result<Json> anthropic_chat(const Json& system, const Json& messages) {
  Conversation chat;
  if (!system.is_null()) {
    const Status status = chat.add_system(system);
    if (!status.is_ok()) return Status(status.code(), "system" + status.message());
  }
  if (!messages.is_array() || messages.empty())
    return Status::invalid_argument("messages must be a list of at least one message");
  if (messages.size() > limits::kRequestMessages) {
    return Status::invalid_argument("messages has {} entries but may have {}", messages.size(),
                                    limits::kRequestMessages);
  }
  for (size_t i = 0; i < messages.size(); ++i) {
    const Status status = chat.add(messages[i]);
    if (!status.is_ok())
      return Status(status.code(), fmt::format("messages[{}]{}", i, status.message()));
  }
  if (chat.ends_with_assistant()) {
    return Status::unsupported(
        "messages ends with the assistant's turn, but an answer cannot be continued; end with the "
        "user's");
  }
  return chat.take();
}

Result<Json> anthropic_tools(const Json& tools) {
  if (!tools.is_array()) return Status::invalid_argument("must be a list");
  if (tools.size() > limits::kRequestTools) {
    return Status::invalid_argument("has {} entries but may have {}", tools.size(),
                                    limits::kRequestTools);
  }
  Json functions = Json::array();
  for (size_t i = 0; i < tools.size(); ++i) {
    Result<Json> function = function_of(tools[i]);
    if (!function.is_ok()) {
      const Status status = function.status();
      return Status(status.code(), fmt::format("[{}] {}", i, status.message()));
    }
    functions.push_back(*std::move(function));
  }
  return functions;
}

}  // namespace ingot
