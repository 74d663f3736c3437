// SPDX-License-Identifier: Apache-2.0
// The pieces of a vocabulary, by id and by text. Filled at load, where every id is checked; ids may
// have holes. Text lives in one arena, so a quarter of a million pieces cost few allocations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tokenizer/tokenizer.h"

namespace ingot::tok {

// Immutable after load; thread-safe then.
class Vocabulary {
 public:
  // A text given twice keeps its last id, an id given twice its last text.
  Status insert(std::string_view piece, int64_t id, std::string_view source);
  std::optional<TokenId> find(std::string_view piece) const;
  bool has(TokenId id) const;
  // Empty for an id without a piece. The view lives as long as nothing is inserted.
  std::string_view piece(TokenId id) const;
  // One more than the largest id.
  size_t size() const { return entries_.size(); }
  // Distinct texts.
  size_t count() const { return count_; }
  size_t longest_piece_bytes() const { return longest_; }

 private:
  struct Entry {
    uint32_t offset = kHole;
    uint32_t size = 0;
  };
  struct Slot {
    uint32_t hash = 0;
    TokenId id = -1;
    uint32_t offset = 0;  // the text is kept here too: two texts may share an id
    uint32_t size = 0;
  };
  static constexpr uint32_t kHole = 0xFFFFFFFF;

  void grow();
  std::string_view text(uint32_t offset, uint32_t size) const {
    return std::string_view(arena_).substr(offset, size);
  }

  std::string arena_;
  std::vector<Entry> entries_;  // by id
  std::vector<Slot> slots_;     // open addressing, a power of two
  size_t count_ = 0;
  size_t longest_ = 0;
};

}  // namespace ingot::tok
