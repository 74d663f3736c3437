// SPDX-License-Identifier: Apache-2.0
// Byte-pair encoding as sentencepiece does it: no list of merges, two neighbours merge when their
// text together is an entry, best score first. Text, not ids, decides what merges.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "tokenizer/byte_trie.h"
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
  // `scores` by id.
  ScoreBpe(const Vocabulary& vocabulary, std::vector<float> scores, ScoreBpeOptions options);
  Status encode(std::string_view piece, TokenSink& out) const override;

 private:
  struct Symbol;
  class Merging;
  std::optional<TokenId> entry(std::string_view text) const;
  void add_text(std::string_view text, TokenSink& out, bool& is_after_unknown) const;

  const Vocabulary* vocabulary_;
  std::vector<float> scores_;
  ScoreBpeOptions options_;
  std::array<TokenId, 256> byte_pieces_{};
  bool has_unused_ = false;
};

}  // namespace ingot::tok
