// SPDX-License-Identifier: Apache-2.0
#include "api/openai_error.h"

#include <nlohmann/json.hpp>

namespace ingot {

OpenAiError to_openai_error(const Status& status, std::string param) {
  OpenAiError error{.message = status.message(), .param = std::move(param), .code = {}};
  switch (status.code()) {
    case StatusCode::kInvalidData:
    case StatusCode::kInvalidArgument:
    case StatusCode::kUnsupported:
    case StatusCode::kRefused:
    case StatusCode::kResourceExhausted:  // a limit: of the body, of the template
    case StatusCode::kNotFound:           // no tokenizer, no template
      return error;
    default:
      error.http_status = 500;
      error.type = "server_error";
      return error;
  }
}

std::optional<OpenAiError> broken_off_error(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
    case FinishReason::kLength:
      return std::nullopt;
    case FinishReason::kDeadline:
      return OpenAiError{.http_status = 504,
                         .message = "the request ran out of time before its answer was complete",
                         .type = "server_error",
                         .code = "timeout"};
    case FinishReason::kCancelled:
      return OpenAiError{.http_status = 503,
                         .message = "the request was cancelled before its answer was complete",
                         .type = "server_error",
                         .code = "cancelled"};
  }
  return std::nullopt;
}

Json error_body(const OpenAiError& error) {
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? Json() : Json(text);
  };
  return {{"error",
           {{"message", error.message},
            {"type", error.type},
            {"param", text_or_null(error.param)},
            {"code", text_or_null(error.code)}}}};
}

}  // namespace ingot
