// SPDX-License-Identifier: Apache-2.0
// What the attention walk goes through: tiles, each a few rows of one sequence by heads of one kv
// head, and segments, which cut positions at fixed places whatever the tile. A row sees the
// positions up to its own, or the last `window` of them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/paged_kv.h"

namespace ingot {

inline constexpr int64_t kSegment = 512;  // positions

struct Range {  // of positions
  int64_t begin;
  int64_t end;
  bool is_empty() const { return begin >= end; }
  int64_t size() const { return end - begin; }
  Range within(Range other) const {
    return {std::max(begin, other.begin), std::min(end, other.end)};
  }
};

inline Range segment_range(int64_t segment) {
  return {segment * kSegment, (segment + 1) * kSegment};
}

struct Tile {
  const SequenceRows* sequence;
  int64_t first_token;  // of the sequence's rows
  int64_t rows;
  int64_t first_head;
  int64_t heads;
  int64_t window;

  int64_t queries() const { return rows * heads; }  // query n: row n / heads, head n % heads
  int64_t position(int64_t row) const { return sequence->first_position + first_token + row; }
  Range seen(int64_t row) const {
    const int64_t end = position(row) + 1;
    return {window > 0 ? std::max<int64_t>(0, end - window) : 0, end};
  }
  Range seen_by_all_rows_together() const { return {seen(0).begin, seen(rows - 1).end}; }
  int64_t first_segment() const { return seen(0).begin / kSegment; }
  int64_t end_segment() const { return position(rows - 1) / kSegment + 1; }
};

}  // namespace ingot
