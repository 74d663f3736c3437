// SPDX-License-Identifier: Apache-2.0
#include "api/protocol_body.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/limits.h"
#include "base/utf8.h"

namespace ingot {
namespace {

constexpr size_t kShownNameBytes = 64;

}  // namespace

std::variant<Json, OpenAiError> parse_body(std::string_view text) {
  if (text.size() > limits::kRequestBytes) {
    return OpenAiError{.http_status = 413,
                       .message = fmt::format("the body has {} bytes but may have {}", text.size(),
                                              limits::kRequestBytes)};
  }
  Result<Json> body = parse_json(text, "the body");
  if (!body.is_ok()) return to_openai_error(body.status());
  if (!body->is_object())
    return to_openai_error(Status::invalid_argument("the body is not an object"));
  return *std::move(body);
}

OpenAiError field_error(const Status& status, std::string field) {
  OpenAiError error = to_openai_error(status, std::move(field));
  if (status.code() == StatusCode::kUnsupported) error.code = "unsupported_value";
  return error;
}

OpenAiError renamed_error(OpenAiError error, FieldNames names) {
  const auto found =
      std::ranges::find(names, error.param, [](const auto& pair) { return pair.first; });
  if (found == names.end()) return error;
  error.param = found->second;
  if (error.message.starts_with(found->first))
    error.message.replace(0, found->first.size(), found->second);
  return error;
}

void UnknownFields::add(std::string_view name) {
  const size_t index = count_++;
  if (index > limits::kRequestWarnings) return;
  warnings_.push_back(index == limits::kRequestWarnings
                          ? std::string("there are more unknown fields")
                          : fmt::format("the unknown field '{}' is ignored",
                                        utf8::replace_invalid(name.substr(0, kShownNameBytes))));
}

}  // namespace ingot
