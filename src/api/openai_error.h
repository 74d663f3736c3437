// SPDX-License-Identifier: Apache-2.0
// What a client of OpenAI's API is told when a request fails: the HTTP status and the fields of the
// error object.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "base/status.h"
#include "ingot/engine.h"

namespace ingot {

struct OpenAiError {
  int http_status = 400;
  std::string message = {};
  std::string type = "invalid_request_error";
  std::string param = {};  // the field; empty: null
  std::string code = {};   // empty: null
};

// Wrong input is the client's (400), everything else ours (500). `param` may be empty.
OpenAiError to_openai_error(const Status& status, std::string param = {});
// What is told of an answer that was broken off, for which OpenAI's API has no finish reason: the
// code is "timeout" or "cancelled". Nothing for one that came to its end.
std::optional<OpenAiError> broken_off_error(FinishReason reason);
// {"error": {"message", "type", "param", "code"}}
Json error_body(const OpenAiError& error);

}  // namespace ingot
