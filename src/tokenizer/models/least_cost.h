// SPDX-License-Identifier: Apache-2.0
// The cheapest way to write a text with a vocabulary's entries, found from its end to its start:
// the model of PLaMo 2. Costs are whole numbers (scores in ten thousandths), a character outside
// the vocabulary costs a thousand and becomes bytes; of equal ways the one with the longer entry
// wins.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "tokenizer/byte_trie.h"
#include "tokenizer/models/token_model.h"

namespace ingot::tok {

class LeastCost : public TokenModel {
 public:
  struct Entry {
    std::string_view text;
    TokenId id;
    float score;
  };
  // The vocabulary must spell all bytes ("<0x00>" ...). Of entries with one text the last counts.
  static Result<TokenModelPtr> make(std::span<const Entry> entries, const Vocabulary& vocabulary);
  Status encode(std::string_view piece, TokenSink& out) const override;

 private:
  struct Priced {
    TokenId id;
    int32_t cost;
  };
  struct Step {
    int64_t cost;
    uint32_t size;  // of the entry that begins here
    TokenId id;     // -1: a character as bytes
  };
  Step best_from(std::string_view text, size_t begin, const std::vector<Step>& steps) const;

  ByteTrie trie_;
  std::vector<Priced> entries_;  // by the values of the trie
  std::array<TokenId, 256> byte_pieces_{};
};

}  // namespace ingot::tok
