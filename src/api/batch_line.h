// SPDX-License-Identifier: Apache-2.0
// One line of an OpenAI batch file, in and out (docs/batch.md has the format).
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "api/openai_error.h"
#include "api/openai_request.h"
#include "base/json.h"
#include "base/line_reader.h"

namespace ingot {

// NOLINTNEXTLINE(bugprone-exception-escape): the library's own move of a Json does not throw
struct BatchRequest {
  std::string custom_id;
  OpenAiEndpoint endpoint = OpenAiEndpoint::kChat;
  Json body;
  std::optional<OpenAiError> error;  // the line has its id, but method, url or body are wrong
};

// A line that has no custom_id to answer to.
struct BatchLineError {
  std::string
      code;  // "line_too_long", "invalid_json_line", "missing_custom_id", "duplicate_custom_id"
  std::string message;
};

using BatchLine = std::variant<BatchRequest, BatchLineError>;
BatchLine parse_batch_line(const LineReader::Line& line);

// Each ends with a line end.
std::string reply_line(uint64_t number, std::string_view custom_id, int http_status, Json body);
std::string error_line(uint64_t number, const BatchLineError& error);

// Whose answer an output line is; nothing when it is not a whole line of ours.
struct BatchAnswered {
  uint64_t number = 0;
  std::optional<std::string> custom_id;  // none: an error of the line itself
};
std::optional<BatchAnswered> parse_answered(std::string_view line);

}  // namespace ingot
