// SPDX-License-Identifier: Apache-2.0
// Byte-pair encoding with a list of merges, lowest rank first, leftmost first among equals. Symbols
// are a linked list and candidate merges a queue (merge_queue.h), so nothing is looked at twice,
// however long a piece is.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "tokenizer/models/join_filter.h"
#include "tokenizer/models/token_model.h"

namespace ingot::tok {

// (left id, right id) -> (rank, merged id): a flat hash table. Immutable after load.
class MergeTable {
 public:
  struct Merge {
    uint32_t rank;
    TokenId id;
  };
  void reserve(size_t count);
  // A pair given twice keeps its last rank.
  void insert(TokenId left, TokenId right, Merge merge);
  // One more than the largest rank.
  size_t end_rank() const { return end_rank_; }
  // Calls visit(left, right, merge) for every entry, in no order.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const Slot& slot : slots_) {
      if (slot.key == kFree) continue;
      visit(static_cast<TokenId>(slot.key >> 32), static_cast<TokenId>(slot.key & 0xFFFFFFFF),
            slot.merge);
    }
  }
  const Merge* find(TokenId left, TokenId right) const {
    if (slots_.empty()) return nullptr;
    const uint64_t key = key_of(left, right);
    for (size_t at = hash_of(key) & mask_;; at = (at + 1) & mask_) {
      if (slots_[at].key == key) return &slots_[at].merge;
      if (slots_[at].key == kFree) return nullptr;
    }
  }

 private:
  struct Slot {
    uint64_t key = kFree;
    Merge merge{};
  };
  static constexpr uint64_t kFree = ~uint64_t{0};  // ids are never negative
  static uint64_t key_of(TokenId left, TokenId right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  }
  static size_t hash_of(uint64_t key) {
    return static_cast<size_t>((key * 0x9E3779B97F4A7C15ULL) >> 29);
  }
  std::vector<Slot> slots_;
  size_t mask_ = 0;
  size_t count_ = 0;
  size_t end_rank_ = 0;
};

struct BpeOptions {
  std::optional<std::string> unk_token = {};
  std::string continuing_subword_prefix = {};
  std::string end_of_word_suffix = {};
  bool fuse_unk = false;
  bool byte_fallback = false;
  bool ignore_merges = false;  // a piece that is in the vocabulary is taken whole
};

class Bpe : public TokenModel {
 public:
  Bpe(const Vocabulary& vocabulary, MergeTable merges, BpeOptions options);
  Status encode(std::string_view piece, TokenSink& out) const override;

 private:
  Status append_symbols(std::string_view piece, std::vector<TokenId>& symbols) const;
  // Both merge in place and return how many symbols are left.
  size_t merge_few(std::span<TokenId> symbols) const;
  size_t merge_many(std::span<TokenId> symbols) const;
  JoinFilter joins_of_merges() const;

  const Vocabulary* vocabulary_;
  MergeTable merges_;
  BpeOptions options_;
  std::optional<TokenId> unk_;
  std::array<TokenId, 0x180> chars_{};      // ids of the low code points; -1 where there is none
  std::array<TokenId, 256> byte_pieces_{};  // "<0x00>" ...
  bool is_plain_ = false;                   // neither prefix nor suffix
  JoinFilter joins_;                        // by ids of symbols
};

}  // namespace ingot::tok
