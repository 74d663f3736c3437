// SPDX-License-Identifier: Apache-2.0
// Models that look words up: WordPiece takes the longest entry that fits, again and again, and
// gives a word up as unknown when nothing fits; WordLevel knows whole words only.
#pragma once

#include <optional>
#include <string>

#include "tokenizer/byte_trie.h"
#include "tokenizer/models/token_model.h"

namespace ingot::tok {

struct WordPieceOptions {
  std::string unk_token = "[UNK]";
  std::string first_prefix = {};         // what entries at the start of a word carry
  std::string continuing_prefix = "##";  // what all others carry
  size_t longest_word_chars = 100;       // longer words are unknown
};

class WordPiece : public TokenModel {
 public:
  WordPiece(const Vocabulary& vocabulary, WordPieceOptions options);
  Status encode(std::string_view piece, TokenSink& out) const override;

 private:
  Status add_unknown(TokenSink& out) const;

  WordPieceOptions options_;
  std::optional<TokenId> unk_;
  ByteTrie first_;       // entries that may begin a word, without their prefix
  ByteTrie continuing_;  // entries that may follow
};

class WordLevel : public TokenModel {
 public:
  WordLevel(const Vocabulary& vocabulary, std::string unk_token);
  Status encode(std::string_view piece, TokenSink& out) const override;

 private:
  const Vocabulary* vocabulary_;
  std::string unk_token_;
  std::optional<TokenId> unk_;
};

}  // namespace ingot::tok
