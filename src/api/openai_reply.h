// SPDX-License-Identifier: Apache-2.0
// Finished answers become the body that a client of OpenAI's API reads, when it did not ask for a
// stream. One body for all prompts of a request: choice i of prompt p has the index p * n + i.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "api/answer_collector.h"
#include "api/answer_counts.h"
#include "api/openai_request.h"
#include "base/json.h"
#include "ingot/engine.h"
#include "tokenizer/tokenizer.h"

namespace ingot {

struct ReplyInfo {
  std::string id;              // "chatcmpl-..." or "cmpl-..."
  int64_t created = 0;         // seconds since 1970
  std::string model;           // the one that answered
  const Tokenizer* tokenizer;  // null: tokens are told as "token_id:N"
};

// `answers` has one entry for each of request.requests, whose prompts are ids.
Json openai_reply(const OpenAiRequest& request, std::span<const CollectedAnswer> answers,
                  const AnswerCounts& counts, const ReplyInfo& info);

// The prompt as an echo shows it.
std::string echoed_prompt(const OpenAiRequest& request, size_t prompt, const Tokenizer* tokenizer);
// One of OpenAI's. The reason is not one that breaks an answer off.
std::string_view openai_finish_reason(FinishReason reason, bool has_calls);

}  // namespace ingot
