// SPDX-License-Identifier: Apache-2.0
// Answers and errors as clients of Anthropic's Messages API read them: one body, or a stream of
// named events. A text or a call of a tool is a content block of its own.
#pragma once

#include <memory>
#include <string>

#include "api/answer_parts.h"
#include "api/answer_writer.h"
#include "api/openai_request.h"
#include "base/json.h"

namespace ingot {

struct AnthropicReplyInfo {
  std::string id;     // "msg_..."
  std::string model;  // the one that answers
};

// For the one answer of a request of parse_anthropic(), streamed if it asks for that. `parts` may
// be null: the answer is text alone.
std::unique_ptr<AnswerWriter> anthropic_writer(const OpenAiRequest& request,
                                               const AnthropicReplyInfo& info,
                                               std::unique_ptr<AnswerParts> parts);

// {"type": "error", "error": {"type", "message"}}, with the type that belongs to the HTTP status.
Json anthropic_error_body(const OpenAiError& error);

}  // namespace ingot
