// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/models/score_bpe.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <unordered_map>

#include "base/utf8.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/models/merge_queue.h"

namespace ingot::tok {

namespace {
constexpr uint32_t kEnd = std::numeric_limits<uint32_t>::max();
}  // namespace

struct ScoreBpe::Symbol {
  uint32_t begin;
  uint32_t size;  // 0: merged into its left neighbour
  uint32_t previous;
  uint32_t next;
  bool is_frozen;
};

// One run over one piece.
class ScoreBpe::Merging {
 public:
  Merging(const ScoreBpe& model, std::string_view text) : model_(model), text_(text) {}

  void run() {
    split_symbols();
    MergeQueue queue(model_.rank_count_, symbols_.size());
    for (uint32_t i = 1; i < symbols_.size(); ++i)
      consider(i - 1, i, queue);
    while (const std::optional<MergeQueue::Candidate> best = queue.pop())
      merge(*best, queue);
  }
  const std::vector<Symbol>& symbols() const { return symbols_; }
  std::string_view text(const Symbol& symbol) const {
    return text_.substr(symbol.begin, symbol.size);
  }
  // How an unused entry was put together: the size of its left part; 0 when it was not.
  size_t left_size(std::string_view unused) const {
    const auto found = unused_.find(unused);
    return found == unused_.end() ? 0 : found->second;
  }

 private:
  void split_symbols() {
    symbols_.reserve(text_.size());
    for (size_t at = 0; at < text_.size();) {
      const ByteTrie::Match frozen = model_.options_.user_defined.longest_prefix(text_, at);
      const size_t size = frozen.size > 0 ? frozen.size : utf8::decode(text_.substr(at)).size;
      const auto index = static_cast<uint32_t>(symbols_.size());
      symbols_.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(size),
                          index == 0 ? kEnd : index - 1, index + 1, frozen.size > 0});
      at += size;
    }
    if (!symbols_.empty()) symbols_.back().next = kEnd;
  }

  void consider(uint32_t left, uint32_t right, MergeQueue& queue) {
    if (left == kEnd || right == kEnd) return;
    if (symbols_[left].is_frozen || symbols_[right].is_frozen) return;
    const uint32_t size = symbols_[left].size + symbols_[right].size;
    const std::string_view together = text_.substr(symbols_[left].begin, size);
    const std::optional<TokenId> id = model_.entry(together);
    if (!id) return;
    const auto index = static_cast<size_t>(*id);
    if (model_.has_unused_ && model_.options_.is_unused[index]) {
      unused_[together] = symbols_[left].size;
    }
    queue.push({model_.ranks_[index], left, size});
  }

  void merge(const MergeQueue::Candidate& best, MergeQueue& queue) {
    Symbol& left = symbols_[best.position];
    if (left.size == 0 || left.next == kEnd) return;  // outdated, as by any other size below
    Symbol& right = symbols_[left.next];
    if (left.size + right.size != best.detail) return;
    left.size = best.detail;
    right.size = 0;
    left.next = right.next;
    if (left.next != kEnd) symbols_[left.next].previous = best.position;
    consider(left.previous, best.position, queue);
    consider(best.position, left.next, queue);
  }

  const ScoreBpe& model_;
  std::string_view text_;
  std::vector<Symbol> symbols_;
  std::unordered_map<std::string_view, size_t> unused_;
};

ScoreBpe::ScoreBpe(const Vocabulary& vocabulary, std::vector<float> scores, ScoreBpeOptions options)
    : vocabulary_(&vocabulary), options_(std::move(options)) {
  options_.is_excluded.resize(vocabulary.size(), false);
  options_.is_unused.resize(vocabulary.size(), false);
  scores.resize(vocabulary.size(), 0.0F);
  std::vector<float> ordered = scores;
  std::sort(ordered.begin(), ordered.end(), std::greater<>{});
  ordered.erase(std::unique(ordered.begin(), ordered.end()), ordered.end());
  rank_count_ = ordered.size();
  ranks_.reserve(scores.size());
  for (const float score : scores) {
    const auto rank = std::lower_bound(ordered.begin(), ordered.end(), score, std::greater<>{});
    ranks_.push_back(static_cast<uint32_t>(rank - ordered.begin()));
  }
  has_unused_ = std::find(options_.is_unused.begin(), options_.is_unused.end(), true) !=
                options_.is_unused.end();
  for (size_t byte = 0; byte < byte_pieces_.size(); ++byte) {
    byte_pieces_[byte] = vocabulary.find(byte_piece(static_cast<uint8_t>(byte))).value_or(-1);
  }
  joins_ = joins_of_entries();
}

JoinFilter ScoreBpe::joins_of_entries() const {
  // How an unused entry is taken apart depends on the text as a whole.
  if (has_unused_) return {};
  JoinFilter joins(vocabulary_->size());
  for (size_t i = 0; i < vocabulary_->size(); ++i) {
    const std::string_view piece = vocabulary_->piece(static_cast<TokenId>(i));
    // Tags and bytes ("<0x77>") are mostly entries that no merge leads to. Nothing else is worth
    // the look-ups.
    if (options_.is_excluded[i] || (piece.starts_with('<') && !has_halves(piece))) continue;
    uint32_t last = 0;
    for (size_t at = 0; at < piece.size();) {
      const utf8::Decoded c = utf8::decode(piece.substr(at));
      if (at > 0) joins.add(last, c.code_point);
      last = c.code_point;
      at += c.size;
    }
  }
  return joins;
}

bool ScoreBpe::has_halves(std::string_view piece) const {
  constexpr size_t kLongestBytes = 64;
  if (piece.size() > kLongestBytes) return true;
  for (size_t size = 1; size < piece.size(); ++size) {
    if (entry(piece.substr(0, size)) && entry(piece.substr(size))) return true;
  }
  return false;
}

// Where the text may be cut next behind `begin`: not within a symbol, nor where a merge can happen.
size_t ScoreBpe::end_of_part(std::string_view text, size_t begin) const {
  uint32_t last = 0;
  for (size_t at = begin; at < text.size();) {
    const ByteTrie::Match frozen = options_.user_defined.longest_prefix(text, at);
    if (frozen.size > 0) return at > begin ? at : at + frozen.size;
    const utf8::Decoded c = utf8::decode(text.substr(at));
    if (at > begin && !joins_.may_join(last, c.code_point)) return at;
    last = c.code_point;
    at += c.size;
  }
  return text.size();
}

std::optional<TokenId> ScoreBpe::entry(std::string_view text) const {
  const std::optional<TokenId> id = vocabulary_->find(text);
  if (!id || options_.is_excluded[static_cast<size_t>(*id)]) return std::nullopt;
  return id;
}

// The id of a symbol's text; bytes or an unknown where it has none. Neighbouring unknowns are one.
void ScoreBpe::add_text(std::string_view text, TokenSink& out, bool& is_after_unknown) const {
  if (const std::optional<TokenId> id = entry(text)) {
    out.add(*id);
    is_after_unknown = false;
    return;
  }
  const bool has_bytes =
      options_.byte_fallback && std::all_of(text.begin(), text.end(), [&](char byte) {
        return byte_pieces_[static_cast<uint8_t>(byte)] >= 0;
      });
  if (has_bytes) {
    for (const char byte : text)
      out.add(byte_pieces_[static_cast<uint8_t>(byte)]);
  } else if (options_.unk && !is_after_unknown) {
    out.add(*options_.unk, text);
  } else if (is_after_unknown && out.wants_surfaces && !out.surfaces.empty()) {
    out.surfaces.back().second += text;
  }
  is_after_unknown = !has_bytes;
}

Status ScoreBpe::encode(std::string_view piece, TokenSink& out) const {
  if (piece.size() > std::numeric_limits<uint32_t>::max() / 8) {
    return Status::resource_exhausted("a text of {} bytes without a break is too long",
                                      piece.size());
  }
  bool is_after_unknown = false;
  for (size_t begin = 0; begin < piece.size();) {
    const size_t end = has_unused_ ? piece.size() : end_of_part(piece, begin);
    const std::string_view part = piece.substr(begin, end - begin);
    if (!has_unused_ && utf8::decode(part).size == part.size()) {
      add_text(part, out, is_after_unknown);
    } else {
      encode_part(part, out, is_after_unknown);
    }
    begin = end;
  }
  return Status::ok();
}

void ScoreBpe::encode_part(std::string_view text, TokenSink& out, bool& is_after_unknown) const {
  Merging merging(*this, text);
  merging.run();
  std::vector<std::string_view> parts;  // a stack: unused entries are taken apart, left part first
  const std::vector<Symbol>& symbols = merging.symbols();
  for (uint32_t i = symbols.empty() ? kEnd : 0; i != kEnd; i = symbols[i].next) {
    parts.assign(1, merging.text(symbols[i]));
    while (!parts.empty()) {
      const std::string_view part = parts.back();
      parts.pop_back();
      const std::optional<TokenId> id = has_unused_ ? entry(part) : std::nullopt;
      const bool is_unused = id && options_.is_unused[static_cast<size_t>(*id)];
      const size_t left = is_unused ? merging.left_size(part) : 0;
      if (left == 0) {
        add_text(part, out, is_after_unknown);
      } else {
        parts.push_back(part.substr(left));
        parts.push_back(part.substr(0, left));
      }
    }
  }
}

}  // namespace ingot::tok
