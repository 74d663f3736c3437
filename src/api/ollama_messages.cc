// SPDX-License-Identifier: Apache-2.0
#include "api/ollama_messages.h"

#include <nlohmann/json.hpp>
#include <string>

#include "api/json_values.h"
#include "base/limits.h"

namespace ingot {
namespace {

// A string under a new name, when there is one.
Status copy_text(const Json& from, const char* key, Json& to, const char* new_key) {
  const Json* value = find(from, key);
  if (value == nullptr) return Status::ok();
  if (!value->is_string()) return Status::invalid_argument(".{} must be a string", key);
  if (!value->get_ref<const std::string&>().empty()) to[new_key] = *value;
  return Status::ok();
}

Status add_calls(const Json& calls, Json& out) {
  if (!calls.is_array()) return Status::invalid_argument(".tool_calls must be a list");
  if (calls.empty()) return Status::ok();
  Json list = Json::array();
  for (size_t i = 0; i < calls.size(); ++i) {
    const Json* function = calls[i].is_object() ? find(calls[i], "function") : nullptr;
    const Json* name =
        function != nullptr && function->is_object() ? find(*function, "name") : nullptr;
    if (name == nullptr || !name->is_string())
      return Status::invalid_argument(".tool_calls[{}] must have a function with a name", i);
    const Json* arguments = find(*function, "arguments");
    if (arguments != nullptr && !arguments->is_object())
      return Status::invalid_argument(".tool_calls[{}].function.arguments must be an object", i);
    Json call = Json::object();
    if (const Json* id = find(calls[i], "id"); id != nullptr && id->is_string()) call["id"] = *id;
    call["type"] = "function";
    call["function"] = {{"name", *name},
                        {"arguments", arguments != nullptr ? *arguments : Json::object()}};
    list.push_back(std::move(call));
  }
  out["tool_calls"] = std::move(list);
  return Status::ok();
}

Result<Json> message_of(const Json& message) {
  if (!message.is_object()) return Status::invalid_argument(" must be an object");
  const Json* role = find(message, "role");
  if (role == nullptr ||
      (*role != "system" && *role != "user" && *role != "assistant" && *role != "tool")) {
    return Status::invalid_argument(".role must be 'system', 'user', 'assistant' or 'tool'");
  }
  const Json* images = find(message, "images");
  if (images != nullptr && !(images->is_array() && images->empty()))
    return Status::unsupported(".images cannot be read: only text is supported");
  Json out = {{"role", *role}, {"content", ""}};
  INGOT_TRY(copy_text(message, "content", out, "content"));
  INGOT_TRY(copy_text(message, "thinking", out, "reasoning_content"));
  INGOT_TRY(copy_text(message, "tool_name", out, "name"));
  INGOT_TRY(copy_text(message, "tool_call_id", out, "tool_call_id"));
  if (const Json* calls = find(message, "tool_calls"); calls != nullptr) {
    INGOT_TRY(add_calls(*calls, out));
  }
  return out;
}

}  // namespace

Result<Json> ollama_chat(const Json& messages) {
  if (messages.size() > limits::kRequestMessages) {
    return Status::invalid_argument(" has {} entries but may have {}", messages.size(),
                                    limits::kRequestMessages);
  }
  Json chat = Json::array();
  for (size_t i = 0; i < messages.size(); ++i) {
    Result<Json> message = message_of(messages[i]);
    if (!message.is_ok()) {
      const Status status = message.status();
      return Status(status.code(), fmt::format("[{}]{}", i, status.message()));
    }
    chat.push_back(*std::move(message));
  }
  return chat;
}

}  // namespace ingot
