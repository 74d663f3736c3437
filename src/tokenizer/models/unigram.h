// SPDX-License-Identifier: Apache-2.0
// The unigram language model: of all ways to cut a text into entries of the vocabulary, the one
// with the greatest sum of scores (Viterbi, one pass over the text).
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "tokenizer/byte_trie.h"
#include "tokenizer/models/token_model.h"

namespace ingot::tok {

struct UnigramOptions {
  std::optional<TokenId> unk = {};
  bool byte_fallback = false;
  // sentencepiece adds in float, the `tokenizers` package in double: near ties fall differently.
  bool rounds_to_float = false;
  // Entries that may not be chosen (control, unused, byte pieces), by id; empty: all may.
  std::vector<bool> is_excluded = {};
  // The score of an unknown character.
  double unk_score = 0;
};

class Unigram : public TokenModel {
 public:
  // `scores` by id.
  Unigram(const Vocabulary& vocabulary, std::vector<double> scores, UnigramOptions options);
  Status encode(std::string_view piece, TokenSink& out) const override;

 private:
  struct Step {
    double score = 0;
    uint32_t begin = kUnreached;  // texts are shorter than 4 GiB
    TokenId id = -1;
  };
  static constexpr uint32_t kUnreached = ~uint32_t{0};

  bool is_excluded(TokenId id) const {
    return static_cast<size_t>(id) < options_.is_excluded.size() &&
           options_.is_excluded[static_cast<size_t>(id)];
  }
  Status find_best(std::string_view text, std::vector<Step>& best) const;
  void improve(Step& step, double score, size_t begin, TokenId id) const;
  Status add_unknown(std::string_view text, TokenSink& out) const;

  const Vocabulary* vocabulary_;
  std::vector<double> scores_;
  UnigramOptions options_;
  std::array<TokenId, 256> byte_pieces_{};
  bool has_byte_pieces_ = false;
  ByteTrie trie_;
};

}  // namespace ingot::tok
