// SPDX-License-Identifier: Apache-2.0
// Byte-pair encoding with a list of merges, lowest rank first, leftmost first among equals. Symbols
// are a linked list and candidate merges a heap, so a piece of n characters costs O(n log n),
// however long.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

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
  void merge_few(std::vector<TokenId>& symbols) const;
  void merge_many(std::vector<TokenId>& symbols) const;

  const Vocabulary* vocabulary_;
  MergeTable merges_;
  BpeOptions options_;
  std::optional<TokenId> unk_;
  std::array<TokenId, 0x180> chars_{};      // ids of the low code points; -1 where there is none
  std::array<TokenId, 256> byte_pieces_{};  // "<0x00>" ...
  bool is_plain_ = false;                   // neither prefix nor suffix
};

}  // namespace ingot::tok
