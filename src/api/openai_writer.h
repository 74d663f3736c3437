// SPDX-License-Identifier: Apache-2.0
// Answers as a client of OpenAI's API reads them: one body, or server-sent events that end with
// "[DONE]". The texts of the events, put together, are the text of the body.
#pragma once

#include <memory>

#include "api/answer_writer.h"
#include "api/openai_reply.h"
#include "api/openai_request.h"

namespace ingot {

// Streams when the request asks for it. The prompts of `request` are ids (encode_prompts()); it and
// the tokenizer must outlive the writer.
std::unique_ptr<AnswerWriter> make_openai_writer(const OpenAiRequest& request, ReplyInfo info);

}  // namespace ingot
