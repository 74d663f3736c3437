// SPDX-License-Identifier: Apache-2.0
// Greedy encoding: at each place the longest entry that fits. RWKV's way; its entries are bytes,
// written with escapes (byte_alphabet.h).
#pragma once

#include <optional>

#include "tokenizer/byte_trie.h"
#include "tokenizer/models/token_model.h"

namespace ingot::tok {

class LongestMatch : public TokenModel {
 public:
  LongestMatch(const Vocabulary& vocabulary, std::optional<TokenId> unk);
  Status encode(std::string_view piece, TokenSink& out) const override;

 private:
  ByteTrie trie_;
  std::optional<TokenId> unk_;
};

}  // namespace ingot::tok
