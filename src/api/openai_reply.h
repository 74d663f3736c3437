// SPDX-License-Identifier: Apache-2.0
// Finished answers become the body that a client of OpenAI's API reads, when it did not ask for a
// stream. One body for all prompts of a request: choice i of prompt p has the index p * n + i.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "api/openai_request.h"
#include "base/json.h"
#include "ingot/engine.h"
#include "tokenizer/tokenizer.h"

namespace ingot {

struct CollectedChoice {
  std::vector<TokenId> ids;
  std::string text;
  std::vector<PositionLogprobs> logprobs;  // one for each id, when asked for
  FinishReason reason = FinishReason::kStop;
};

// All answers to one prompt.
struct CollectedAnswer {
  std::vector<TokenId> prompt_ids;
  std::string prompt;                          // the text, when it was given as one
  std::shared_ptr<const PromptReport> report;  // null: the prompt was not computed
  std::vector<CollectedChoice> choices;
};

struct ReplyInfo {
  std::string id;              // "chatcmpl-..." or "cmpl-..."
  int64_t created = 0;         // seconds since 1970
  std::string model;           // the one that answered
  const Tokenizer* tokenizer;  // null: tokens are told as "token_id:N"
};

// `answers` has one entry for each of request.requests.
Json openai_reply(const OpenAiRequest& request, std::span<const CollectedAnswer> answers,
                  const ReplyInfo& info);

}  // namespace ingot
