// SPDX-License-Identifier: Apache-2.0
// The four lists of /v1/completions: tokens, token_logprobs, top_logprobs and text_offset, with one
// entry for each echoed and each generated token. A stream takes them piece by piece; offsets go
// on.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "api/openai_logprobs.h"

namespace ingot {

// `names` must outlive it. Single thread.
class CompletionLogprobs {
 public:
  CompletionLogprobs(TokenNames& names, const Tokenizer* tokenizer, bool skips_special);

  // `position` may be null: then nothing is known of the token's likelihood.
  void add(TokenId id, const PositionLogprobs* position);
  // An echoed prompt, with what was asked of it.
  void add_prompt(std::span<const TokenId> ids, const PromptReport* report);
  bool has_entries() const { return !tokens_.empty(); }
  // What was added since the last call.
  Json take();

 private:
  TokenNames* names_;
  std::optional<TextDecoder> decoder_;
  size_t offset_ = 0;  // in characters
  Json tokens_ = Json::array();
  Json logprobs_ = Json::array();
  Json top_ = Json::array();
  Json offsets_ = Json::array();
};

}  // namespace ingot
