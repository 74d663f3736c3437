// SPDX-License-Identifier: Apache-2.0
#include "api/openai_messages.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "api/json_values.h"
#include "base/limits.h"

namespace ingot {
namespace {

constexpr std::array<std::string_view, 6> kRoles = {"system",    "developer", "user",
                                                    "assistant", "tool",      "function"};

// Parts are joined by line ends, as vLLM does for templates that want a string.
Result<std::string> joined_text(const Json& parts) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Json& part = parts[i];
    const Json* type = part.is_object() ? find(part, "type") : nullptr;
    if (type == nullptr || !type->is_string())
      return Status::invalid_argument("content[{}] must be an object with a type", i);
    const auto& name = type->get_ref<const std::string&>();
    if (name != "text") {
      return Status::unsupported("content[{}] has the type '{}'; only 'text' is supported", i,
                                 name.substr(0, limits::kRequestStringBytes));
    }
    const Json* piece = find(part, "text");
    if (piece == nullptr || !piece->is_string())
      return Status::invalid_argument("content[{}].text must be a string", i);
    if (i > 0) text += '\n';
    text += piece->get_ref<const std::string&>();
  }
  return text;
}

Status normalize_content(Json& message) {
  const auto content = message.find("content");
  if (content == message.end() || content->is_null() || content->is_string()) return Status::ok();
  if (!content->is_array() || content->empty())
    return Status::invalid_argument("content must be a string or a list of parts");
  INGOT_TRY(std::string text, joined_text(*content));
  *content = std::move(text);
  return Status::ok();
}

// OpenAI sends the arguments of a call as text; templates print them as an object.
Status normalize_calls(Json& message) {
  const auto calls = message.find("tool_calls");
  if (calls == message.end() || calls->is_null()) return Status::ok();
  if (!calls->is_array()) return Status::invalid_argument("tool_calls must be a list");
  if (calls->size() > limits::kRequestTools) {
    return Status::invalid_argument("tool_calls has {} entries but may have {}", calls->size(),
                                    limits::kRequestTools);
  }
  for (size_t i = 0; i < calls->size(); ++i) {
    Json& call = (*calls)[i];
    const auto function = call.is_object() ? call.find("function") : call.end();
    if (!call.is_object() || function == call.end() || !function->is_object() ||
        find(*function, "name") == nullptr) {
      return Status::invalid_argument("tool_calls[{}] must have a function with a name", i);
    }
    const auto arguments = function->find("arguments");
    if (arguments == function->end() || !arguments->is_string()) continue;
    const auto& text = arguments->get_ref<const std::string&>();
    Result<Json> parsed =
        text.empty() ? Result<Json>(Json::object()) : parse_json(text, "arguments");
    if (!parsed.is_ok())
      return Status::invalid_argument("tool_calls[{}].function.{}", i, parsed.status().message());
    *arguments = *std::move(parsed);
  }
  return Status::ok();
}

Status normalize(Json& message) {
  if (!message.is_object()) return Status::invalid_argument("must be an object");
  const Json* role = find(message, "role");
  if (role == nullptr || !role->is_string() ||
      std::ranges::find(kRoles, std::string_view(role->get_ref<const std::string&>())) ==
          kRoles.end()) {
    return Status::invalid_argument(
        "role must be one of system, developer, user, assistant, tool and function");
  }
  const auto& name = role->get_ref<const std::string&>();
  if (find(message, "content") == nullptr && name != "assistant")
    return Status::invalid_argument("content is missing");
  for (const char* key : {"name", "tool_call_id"}) {
    const Json* value = find(message, key);
    if (value != nullptr && !value->is_string())
      return Status::invalid_argument("{} must be a string", key);
  }
  INGOT_TRY(normalize_content(message));
  return normalize_calls(message);
}

}  // namespace

Result<Json> template_messages(const Json& messages) {
  if (!messages.is_array() || messages.empty())
    return Status::invalid_argument("must be a list of at least one message");
  if (messages.size() > limits::kRequestMessages) {
    return Status::invalid_argument("has {} entries but may have {}", messages.size(),
                                    limits::kRequestMessages);
  }
  Json result = messages;
  for (size_t i = 0; i < result.size(); ++i) {
    if (const Status status = normalize(result[i]); !status.is_ok())
      return Status(status.code(), fmt::format("[{}]: {}", i, status.message()));
  }
  return result;
}

Result<Json> template_tools(const Json& tools) {
  if (!tools.is_array()) return Status::invalid_argument("must be a list");
  if (tools.size() > limits::kRequestTools) {
    return Status::invalid_argument("has {} entries but may have {}", tools.size(),
                                    limits::kRequestTools);
  }
  size_t total = 0;
  for (size_t i = 0; i < tools.size(); ++i) {
    const Json& tool = tools[i];
    const Json* type = tool.is_object() ? find(tool, "type") : nullptr;
    const Json* function = tool.is_object() ? find(tool, "function") : nullptr;
    const Json* name =
        function != nullptr && function->is_object() ? find(*function, "name") : nullptr;
    if (type == nullptr || *type != "function" || name == nullptr || !name->is_string()) {
      return Status::invalid_argument(
          "[{}] must have the type 'function' and a function with a name", i);
    }
    const size_t size = dump_json(tool).size();
    total += size;
    if (size > limits::kRequestToolBytes || total > limits::kRequestToolsBytes) {
      return Status::invalid_argument("[{}] is too large: {} bytes of {}, {} in all of {}", i, size,
                                      limits::kRequestToolBytes, total, limits::kRequestToolsBytes);
    }
  }
  return tools;
}

}  // namespace ingot
