// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/models/bpe.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/utf8.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/models/merge_queue.h"

namespace ingot::tok {

namespace {

// Up to this many symbols, looking through all of them for each merge beats keeping a heap.
constexpr size_t kFewSymbols = 24;
constexpr uint32_t kNoRank = std::numeric_limits<uint32_t>::max();

}  // namespace

void MergeTable::reserve(size_t count) {
  if (2 * count < slots_.size()) return;
  std::vector<Slot> old = std::move(slots_);
  slots_.assign(std::bit_ceil(std::max<size_t>(64, 2 * count + 2)), Slot{});
  mask_ = slots_.size() - 1;
  count_ = 0;
  for (const Slot& slot : old) {
    if (slot.key == kFree) continue;
    insert(static_cast<TokenId>(slot.key >> 32), static_cast<TokenId>(slot.key & 0xFFFFFFFF),
           slot.merge);
  }
}

void MergeTable::insert(TokenId left, TokenId right, Merge merge) {
  if (2 * (count_ + 1) > slots_.size()) reserve(2 * (count_ + 1));
  const uint64_t key = key_of(left, right);
  size_t at = hash_of(key) & mask_;
  while (slots_[at].key != kFree && slots_[at].key != key)
    at = (at + 1) & mask_;
  if (slots_[at].key == kFree) ++count_;
  slots_[at] = {key, merge};
  end_rank_ = std::max(end_rank_, size_t{merge.rank} + 1);
}

Bpe::Bpe(const Vocabulary& vocabulary, MergeTable merges, BpeOptions options)
    : vocabulary_(&vocabulary), merges_(std::move(merges)), options_(std::move(options)) {
  if (options_.unk_token) unk_ = vocabulary.find(*options_.unk_token);
  for (size_t c = 0; c < chars_.size(); ++c) {
    std::string text;
    utf8::append(text, static_cast<char32_t>(c));
    chars_[c] = vocabulary.find(text).value_or(-1);
  }
  for (size_t byte = 0; byte < byte_pieces_.size(); ++byte) {
    byte_pieces_[byte] = vocabulary.find(byte_piece(static_cast<uint8_t>(byte))).value_or(-1);
  }
  is_plain_ = options_.continuing_subword_prefix.empty() && options_.end_of_word_suffix.empty();
  joins_ = joins_of_merges();
}

// The symbols on both sides of every merge, by following the parts of its tokens to their ends.
// That is sound only where a token has one spelling in symbols: otherwise all pairs count as
// joined.
JoinFilter Bpe::joins_of_merges() const {
  if (!is_plain_) return {};
  struct Ends {
    TokenId first;
    TokenId last;
  };
  std::vector<Ends> parts(vocabulary_->size(), {-1, -1});  // of a merged token
  merges_.for_each([&](TokenId left, TokenId right, const MergeTable::Merge& merge) {
    parts[static_cast<size_t>(merge.id)] = {left, right};
  });
  const auto is_merged = [&](TokenId id) { return parts[static_cast<size_t>(id)].first >= 0; };
  std::vector<Ends> ends(parts.size(), {-1, -1});
  // Each part is shorter than its whole, or the vocabulary is not what it seems.
  const auto end_of = [&](TokenId id, TokenId Ends::*side) {
    TokenId end = id;
    for (size_t i = vocabulary_->piece(id).size() + 1; is_merged(end); --i) {
      if (i == 0) return TokenId{-1};
      end = parts[static_cast<size_t>(end)].*side;
    }
    return end;
  };
  for (size_t i = 0; i < ends.size(); ++i) {
    const auto id = static_cast<TokenId>(i);
    const std::string_view piece = vocabulary_->piece(id);
    const bool is_symbol = id == unk_ || byte_of_piece(piece) ||
                           (!piece.empty() && utf8::decode(piece).size == piece.size());
    ends[i] = {end_of(id, &Ends::first), end_of(id, &Ends::last)};
    if (ends[i].first < 0 || ends[i].last < 0 || (is_symbol && is_merged(id))) return {};
  }
  JoinFilter joins(vocabulary_->size());
  bool is_sound = true;
  merges_.for_each([&](TokenId left, TokenId right, const MergeTable::Merge& merge) {
    const Ends& whole = ends[static_cast<size_t>(merge.id)];
    const Ends& left_ends = ends[static_cast<size_t>(left)];
    const Ends& right_ends = ends[static_cast<size_t>(right)];
    is_sound = is_sound && whole.first == left_ends.first && whole.last == right_ends.last;
    joins.add(static_cast<uint32_t>(left_ends.last), static_cast<uint32_t>(right_ends.first));
  });
  return is_sound ? joins : JoinFilter();
}

Status Bpe::encode(std::string_view piece, TokenSink& out) const {
  if (options_.ignore_merges) {
    if (const std::optional<TokenId> id = vocabulary_->find(piece)) {
      out.add(*id);
      return Status::ok();
    }
  }
  if (piece.size() > std::numeric_limits<uint32_t>::max() / 8) {
    return Status::resource_exhausted("a text of {} bytes without a break is too long",
                                      piece.size());
  }
  std::vector<TokenId> symbols;
  INGOT_TRY(append_symbols(piece, symbols));
  for (size_t begin = 0; begin < symbols.size();) {
    size_t end = begin + 1;
    if (symbols.size() <= kFewSymbols) end = symbols.size();
    while (end < symbols.size() && joins_.may_join(static_cast<uint32_t>(symbols[end - 1]),
                                                   static_cast<uint32_t>(symbols[end]))) {
      ++end;
    }
    const std::span<TokenId> part = std::span(symbols).subspan(begin, end - begin);
    const size_t count = part.size() <= kFewSymbols ? merge_few(part) : merge_many(part);
    out.ids.insert(out.ids.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(count));
    begin = end;
  }
  return Status::ok();
}

// One symbol for each character; characters outside the vocabulary become bytes or unknowns.
Status Bpe::append_symbols(std::string_view piece, std::vector<TokenId>& symbols) const {
  symbols.reserve(piece.size());
  bool is_unk_pending = false;  // an unknown waits, because the next one may be fused with it
  std::string spelled;
  for (size_t at = 0; at < piece.size();) {
    const utf8::Decoded c = utf8::decode(piece.substr(at));
    std::string_view text = piece.substr(at, c.size);
    const bool is_first = at == 0;
    at += c.size;
    TokenId id = -1;
    if (is_plain_ && c.code_point < chars_.size()) {
      id = chars_[c.code_point];
    } else {
      if (!is_plain_) {
        spelled.clear();
        if (!is_first) spelled += options_.continuing_subword_prefix;
        spelled += text;
        if (at == piece.size()) spelled += options_.end_of_word_suffix;
        text = spelled;
      }
      id = vocabulary_->find(text).value_or(-1);
    }
    if (id >= 0) {
      if (is_unk_pending) symbols.push_back(*unk_);
      is_unk_pending = false;
      symbols.push_back(id);
      continue;
    }
    const bool has_bytes =
        options_.byte_fallback && std::all_of(text.begin(), text.end(), [&](char byte) {
          return byte_pieces_[static_cast<uint8_t>(byte)] >= 0;
        });
    if (has_bytes) {
      for (const char byte : text)
        symbols.push_back(byte_pieces_[static_cast<uint8_t>(byte)]);
      continue;
    }
    if (!options_.unk_token) continue;
    if (!unk_) {
      return Status::invalid_data("the vocabulary lacks its own unknown token '{}'",
                                  *options_.unk_token);
    }
    if (is_unk_pending && !options_.fuse_unk) symbols.push_back(*unk_);
    is_unk_pending = true;
  }
  if (is_unk_pending) symbols.push_back(*unk_);
  return Status::ok();
}

size_t Bpe::merge_few(std::span<TokenId> symbols) const {
  size_t count = symbols.size();
  if (count < 2) return count;
  // Only what is looked up below is ever read.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): filling it costs more than a short word
  std::array<uint32_t, kFewSymbols> ranks;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): likewise
  std::array<TokenId, kFewSymbols> merged;
  const auto look_up = [&](size_t at) {
    const MergeTable::Merge* merge = merges_.find(symbols[at], symbols[at + 1]);
    ranks[at] = merge == nullptr ? kNoRank : merge->rank;
    merged[at] = merge == nullptr ? -1 : merge->id;
  };
  for (size_t i = 0; i + 1 < count; ++i)
    look_up(i);
  while (count > 1) {
    const auto* const best = std::min_element(ranks.begin(), ranks.begin() + count - 1);
    if (*best == kNoRank) break;
    const auto at = static_cast<size_t>(best - ranks.begin());
    symbols[at] = merged[at];
    std::copy(symbols.begin() + static_cast<std::ptrdiff_t>(at) + 2,
              symbols.begin() + static_cast<std::ptrdiff_t>(count),
              symbols.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    std::copy(ranks.begin() + at + 1, ranks.begin() + count - 1, ranks.begin() + at);
    std::copy(merged.begin() + at + 1, merged.begin() + count - 1, merged.begin() + at);
    --count;
    if (at + 1 < count) look_up(at);
    if (at > 0) look_up(at - 1);
  }
  return count;
}

size_t Bpe::merge_many(std::span<TokenId> symbols) const {
  constexpr uint32_t kEnd = std::numeric_limits<uint32_t>::max();
  struct Links {
    uint32_t previous;
    uint32_t next;
  };
  const auto count = static_cast<uint32_t>(symbols.size());
  std::vector<Links> links(count);
  MergeQueue queue(merges_.end_rank(), count);
  const auto consider = [&](uint32_t left, uint32_t right) {
    const MergeTable::Merge* merge = merges_.find(symbols[left], symbols[right]);
    if (merge != nullptr) queue.push({merge->rank, left, static_cast<uint32_t>(merge->id)});
  };
  for (uint32_t i = 0; i < count; ++i) {
    links[i] = {i == 0 ? kEnd : i - 1, i + 1 == count ? kEnd : i + 1};
    if (i + 1 < count) consider(i, i + 1);
  }
  while (const std::optional<MergeQueue::Candidate> best = queue.pop()) {
    const auto id = static_cast<TokenId>(best->detail);
    const uint32_t left = best->position;
    if (symbols[left] < 0 || links[left].next == kEnd) continue;
    const uint32_t right = links[left].next;
    const MergeTable::Merge* merge = merges_.find(symbols[left], symbols[right]);
    if (merge == nullptr || merge->id != id) continue;  // a neighbour was merged meanwhile
    symbols[left] = id;
    symbols[right] = -1;
    links[left].next = links[right].next;
    if (links[left].next != kEnd) {
      links[links[left].next].previous = left;
      consider(left, links[left].next);
    }
    if (links[left].previous != kEnd) consider(links[left].previous, left);
  }
  const auto end = std::remove(symbols.begin(), symbols.end(), -1);
  return static_cast<size_t>(end - symbols.begin());
}

}  // namespace ingot::tok
