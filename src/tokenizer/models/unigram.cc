// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/models/unigram.h"

#include <algorithm>

#include "base/utf8.h"
#include "tokenizer/byte_alphabet.h"

namespace ingot::tok {

Unigram::Unigram(const Vocabulary& vocabulary, std::vector<double> scores, UnigramOptions options)
    : vocabulary_(&vocabulary), scores_(std::move(scores)), options_(std::move(options)) {
  scores_.resize(vocabulary.size(), 0.0);
  std::vector<std::pair<std::string_view, uint32_t>> keys;
  for (size_t i = 0; i < vocabulary.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    if (!vocabulary.has(id) || vocabulary.find(vocabulary.piece(id)) != id) continue;
    if (is_excluded(id)) continue;
    keys.emplace_back(vocabulary.piece(id), static_cast<uint32_t>(i));
  }
  trie_ = ByteTrie(std::move(keys));
  has_byte_pieces_ = true;
  for (size_t byte = 0; byte < byte_pieces_.size(); ++byte) {
    byte_pieces_[byte] = vocabulary.find(byte_piece(static_cast<uint8_t>(byte))).value_or(-1);
    has_byte_pieces_ = has_byte_pieces_ && byte_pieces_[byte] >= 0;
  }
}

void Unigram::improve(Step& step, double score, size_t begin, TokenId id) const {
  if (step.begin != kUnreached && !(score > step.score)) return;
  step = {options_.rounds_to_float ? static_cast<double>(static_cast<float>(score)) : score,
          static_cast<uint32_t>(begin), id};
}

Status Unigram::find_best(std::string_view text, std::vector<Step>& best) const {
  best.assign(text.size() + 1, Step{});
  for (size_t begin = 0; begin < text.size();) {
    const double score_here = best[begin].score;
    const size_t char_end = begin + utf8::decode(text.substr(begin)).size;
    bool has_char = false;  // an entry covers exactly this character
    uint32_t node = trie_.is_empty() ? ByteTrie::kNone : ByteTrie::kRoot;
    for (size_t at = begin; at < text.size() && node != ByteTrie::kNone;) {
      node = trie_.child(node, static_cast<uint8_t>(text[at++]));
      if (node == ByteTrie::kNone || trie_.value(node) == ByteTrie::kNone) continue;
      const uint32_t id = trie_.value(node);
      improve(best[at], scores_[id] + score_here, begin, static_cast<TokenId>(id));
      has_char = has_char || at == char_end;
    }
    if (!has_char) {
      if (!options_.unk) {
        return Status::invalid_data(
            "a character is not in the vocabulary, and it has no unknown token");
      }
      double score = options_.unk_score + score_here;
      if (options_.rounds_to_float) score = static_cast<double>(static_cast<float>(score));
      improve(best[char_end], score, begin, *options_.unk);
    }
    begin = char_end;
  }
  return Status::ok();
}

// A stretch of characters that no entry covers.
Status Unigram::add_unknown(std::string_view text, TokenSink& out) const {
  if (const std::optional<TokenId> id = vocabulary_->find(text); id && !is_excluded(*id)) {
    out.add(*id);
    return Status::ok();
  }
  const bool has_bytes = options_.byte_fallback &&
                         (has_byte_pieces_ || std::all_of(text.begin(), text.end(), [&](char byte) {
                            return byte_pieces_[static_cast<uint8_t>(byte)] >= 0;
                          }));
  if (has_bytes) {
    for (const char byte : text)
      out.add(byte_pieces_[static_cast<uint8_t>(byte)]);
  } else {
    out.add(*options_.unk, text);
  }
  return Status::ok();
}

Status Unigram::encode(std::string_view piece, TokenSink& out) const {
  if (piece.size() >= kUnreached) {
    return Status::resource_exhausted("a text of {} bytes without a break is too long",
                                      piece.size());
  }
  std::vector<Step> best;
  INGOT_TRY(find_best(piece, best));
  std::vector<size_t> ends;  // of the chosen entries, last first
  for (size_t end = piece.size(); end > 0; end = best[end].begin)
    ends.push_back(end);
  for (size_t i = ends.size(); i-- > 0;) {
    const Step& step = best[ends[i]];
    if (step.id != options_.unk) {
      out.add(step.id);
      continue;
    }
    // Neighbouring unknowns are one.
    while (i > 0 && best[ends[i - 1]].id == options_.unk)
      --i;
    INGOT_TRY(add_unknown(piece.substr(step.begin, ends[i] - step.begin), out));
  }
  return Status::ok();
}

}  // namespace ingot::tok
