// SPDX-License-Identifier: Apache-2.0
// Gathers the engine's events into whole answers, for replies that are sent at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/answer_counts.h"
#include "api/answer_splitter.h"
#include "api/openai_error.h"
#include "api/openai_request.h"
#include "ingot/engine.h"

namespace ingot {

struct CollectedCall {
  std::string id;
  std::string name;
  std::string arguments;  // JSON
};

struct CollectedChoice {
  std::vector<TokenId> ids = {};
  std::string text = {};  // the content
  std::string reasoning = {};
  std::vector<CollectedCall> calls = {};
  std::vector<PositionLogprobs> logprobs = {};  // one for each id, when asked for
  FinishReason reason = FinishReason::kStop;
};

// All answers to one prompt.
struct CollectedAnswer {
  std::shared_ptr<const PromptReport> report = {};  // null: the prompt was not computed
  std::vector<CollectedChoice> choices = {};
};

// Single thread.
class AnswerCollector {
 public:
  // The prompts of `request` are ids (encode_prompts()). `tokenizer` may be null.
  AnswerCollector(const OpenAiRequest& request, const Tokenizer* tokenizer);
  void take(size_t prompt, TextEvent event);

  const std::vector<CollectedAnswer>& answers() const { return answers_; }  // [prompt]
  const AnswerCounts& counts() const { return counts_; }
  // The first answer that did not come to its end, as an error.
  const std::optional<OpenAiError>& broken_off() const { return broken_off_; }

 private:
  void add_text(size_t prompt, TextEvent& event, CollectedChoice& choice);

  std::vector<CollectedAnswer> answers_;
  std::vector<std::vector<AnswerSplitter>> splitters_;  // [prompt][choice]; none: all is content
  AnswerCounts counts_;
  std::optional<OpenAiError> broken_off_;
};

}  // namespace ingot
