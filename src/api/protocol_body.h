// SPDX-License-Identifier: Apache-2.0
// What the parsers of all protocols share: a body's text becomes JSON within the limits, unknown
// fields become warnings, and errors of the request in OpenAI's form get the name that the client
// knows the field by.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "api/openai_error.h"
#include "base/json.h"
#include "base/status.h"

namespace ingot {

// An object, or why the text is none; 413 past limits::kRequestBytes.
std::variant<Json, OpenAiError> parse_body(std::string_view text);

// Wrong input about one field, which may be empty; the message should name it.
OpenAiError field_error(const Status& status, std::string field);

// The same error with the first name of a pair, at the message's front and as the parameter,
// replaced by the second.
using FieldNames = std::span<const std::pair<std::string_view, std::string_view>>;
OpenAiError renamed_error(OpenAiError error, FieldNames names);

// Says which fields were ignored; of very many only some by name.
class UnknownFields {
 public:
  void add(std::string_view name);
  std::vector<std::string> take_warnings() { return std::move(warnings_); }

 private:
  size_t count_ = 0;
  std::vector<std::string> warnings_;
};

}  // namespace ingot
