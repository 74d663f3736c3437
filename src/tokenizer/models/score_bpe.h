// SPDX-License-Identifier: Apache-2.0
// Byte-pair encoding as sentencepiece does it: no list of merges, two neighbours merge when their
// text together is an entry, best score first. Text, not ids, decides what merges.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "tokenizer/byte_trie.h"
#include "tokenizer/models/join_filter.h"
#include "tokenizer/models/token_model.h"

namespace ingot::tok {

struct ScoreBpeOptions {
  std::optional<TokenId> unk = {};
  bool byte_fallback = false;
  std::vector<bool> is_excluded = {};  // entries no merge may make (control, byte pieces), by id
  std::vector<bool> is_unused = {};    // entries that merge but are taken apart again in the end
  ByteTrie user_defined = {};          // stretches of text that are one symbol and never merge
};

class ScoreBpe : public TokenModel {
 public:
  // `scores` by id, none of them a NaN.
  ScoreBpe(const Vocabulary& vocabulary, std::vector<float> scores, ScoreBpeOptions options);
  Status encode(std::string_view piece, TokenSink& out) const override;

 private:
  struct Symbol;
  class Merging;
  JoinFilter joins_of_entries() const;
  // Whether a merge of two entries can make it; long ones are not looked at.
  bool has_halves(std::string_view piece) const;
  size_t end_of_part(std::string_view text, size_t begin) const;
  std::optional<TokenId> entry(std::string_view text) const;
  void encode_part(std::string_view text, TokenSink& out, bool& is_after_unknown) const;
  void add_text(std::string_view text, TokenSink& out, bool& is_after_unknown) const;

  const Vocabulary* vocabulary_;
  std::vector<uint32_t> ranks_;  // by id: the best score has rank 0, equal scores share one
  size_t rank_count_ = 0;
  ScoreBpeOptions options_;
  std::array<TokenId, 256> byte_pieces_{};
  bool has_unused_ = false;
  JoinFilter joins_;  // by code points
};

}  // namespace ingot::tok
