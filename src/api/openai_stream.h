// SPDX-License-Identifier: Apache-2.0
// The streaming form of OpenAI's replies; see openai_writer.h.
#pragma once

#include <memory>

#include "api/answer_writer.h"
#include "api/openai_reply.h"
#include "api/openai_request.h"

namespace ingot {

// `request` and the tokenizer must outlive the writer.
std::unique_ptr<AnswerWriter> make_openai_stream(const OpenAiRequest& request, ReplyInfo info);

}  // namespace ingot
