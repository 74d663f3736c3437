// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/models/wordpiece.h"

#include "base/utf8.h"

namespace ingot::tok {

namespace {

ByteTrie trie_of_prefixed(const Vocabulary& vocabulary, std::string_view prefix) {
  std::vector<std::pair<std::string_view, uint32_t>> keys;
  for (size_t i = 0; i < vocabulary.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    std::string_view piece = vocabulary.piece(id);
    // An id whose text was given another id later is not found by that text.
    if (!vocabulary.has(id) || !piece.starts_with(prefix) || vocabulary.find(piece) != id) continue;
    piece.remove_prefix(prefix.size());
    keys.emplace_back(piece, static_cast<uint32_t>(id));
  }
  return ByteTrie(std::move(keys));
}

Status missing_unknown(std::string_view unk_token) {
  return Status::invalid_data("the vocabulary lacks its own unknown token '{}'", unk_token);
}

}  // namespace

WordPiece::WordPiece(const Vocabulary& vocabulary, WordPieceOptions options)
    : options_(std::move(options)),
      unk_(vocabulary.find(options_.unk_token)),
      first_(trie_of_prefixed(vocabulary, options_.first_prefix)),
      continuing_(trie_of_prefixed(vocabulary, options_.continuing_prefix)) {}

Status WordPiece::add_unknown(TokenSink& out) const {
  if (!unk_) return missing_unknown(options_.unk_token);
  out.add(*unk_);
  return Status::ok();
}

Status WordPiece::encode(std::string_view piece, TokenSink& out) const {
  if (piece.size() > options_.longest_word_chars &&
      utf8::count(piece) > options_.longest_word_chars) {
    return add_unknown(out);
  }
  const size_t count_before = out.ids.size();
  for (size_t at = 0; at < piece.size();) {
    const ByteTrie::Match match = (at == 0 ? first_ : continuing_).longest_prefix(piece, at);
    if (match.size == 0) {
      out.ids.resize(count_before);
      return add_unknown(out);
    }
    out.add(static_cast<TokenId>(match.value));
    at += match.size;
  }
  return Status::ok();
}

WordLevel::WordLevel(const Vocabulary& vocabulary, std::string unk_token)
    : vocabulary_(&vocabulary),
      unk_token_(std::move(unk_token)),
      unk_(vocabulary.find(unk_token_)) {}

Status WordLevel::encode(std::string_view piece, TokenSink& out) const {
  if (const std::optional<TokenId> id = vocabulary_->find(piece)) {
    out.add(*id);
    return Status::ok();
  }
  if (!unk_) return missing_unknown(unk_token_);
  out.add(*unk_);
  return Status::ok();
}

}  // namespace ingot::tok
