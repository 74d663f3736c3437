// SPDX-License-Identifier: Apache-2.0
// Log-probabilities in the three shapes that clients read: of a chat, of a completion, and of a
// prompt as vLLM tells them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>

#include "api/token_text.h"
#include "base/json.h"
#include "ingot/engine.h"
#include "tokenizer/tokenizer.h"

namespace ingot {

inline constexpr double kLeastLogprob = -9999;  // JSON has no infinity; the value is vLLM's

// Texts of tokens; each is decoded once for a reply. Single thread.
class TokenNames {
 public:
  // Without a tokenizer, and where ids are wanted, a token is told as "token_id:N".
  TokenNames(const Tokenizer* tokenizer, bool as_ids) : tokenizer_(tokenizer), as_ids_(as_ids) {}
  const TokenText& of(TokenId id);

 private:
  const Tokenizer* tokenizer_;
  bool as_ids_;
  std::unordered_map<TokenId, TokenText> names_;
};

Json chat_logprobs(TokenNames& names, std::span<const PositionLogprobs> positions);
// null, then {id: {logprob, rank, decoded_token}} for each position.
Json prompt_logprobs(TokenNames& names, const PromptReport& report);

}  // namespace ingot
