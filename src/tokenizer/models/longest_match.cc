// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/models/longest_match.h"

#include <string>
#include <utility>

#include "tokenizer/byte_alphabet.h"

namespace ingot::tok {

LongestMatch::LongestMatch(const Vocabulary& vocabulary, std::optional<TokenId> unk) : unk_(unk) {
  std::vector<std::string> texts(vocabulary.size());
  std::vector<std::pair<std::string_view, uint32_t>> keys;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (!vocabulary.has(static_cast<TokenId>(i))) continue;
    texts[i] = bytes_of_escaped(vocabulary.piece(static_cast<TokenId>(i)));
    keys.emplace_back(texts[i], static_cast<uint32_t>(i));
  }
  trie_ = ByteTrie(std::move(keys));
}

Status LongestMatch::encode(std::string_view piece, TokenSink& out) const {
  for (size_t at = 0; at < piece.size();) {
    const ByteTrie::Match match = trie_.longest_prefix(piece, at);
    if (match.size > 0) {
      out.add(static_cast<TokenId>(match.value));
      at += match.size;
    } else if (unk_) {
      out.add(*unk_);
      ++at;
    } else {
      return Status::invalid_data(
          "the vocabulary lacks the byte 0x{:02x}, and it has no unknown token",
          static_cast<uint8_t>(piece[at]));
    }
  }
  return Status::ok();
}

}  // namespace ingot::tok
