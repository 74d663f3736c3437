// SPDX-License-Identifier: Apache-2.0
// The row of a table (IQ1, IQ2, IQ3) nearest to a few weights, in every lane: all rows are tried,
// so the answer is exact. What keeps that quick: an element takes one of few levels, so its cost is
// computed once a level; the costs of half rows are summed once for all their combinations; a row
// then costs one addition.
#pragma once

#include "quant/encode/lanes.h"

namespace ingot::quant::INGOT_TARGET {

constexpr size_t power(size_t base, size_t exponent) {
  return exponent == 0 ? 1 : base * power(base, exponent - 1);
}

template <size_t kElements, size_t kLevelCount, size_t kRowCount>
class TableSearch {
 public:
  static constexpr size_t kSize = kElements;

  // Rows as in blocks/iq_grids.h: element i in byte i, counted from the low end.
  template <class Word>
  TableSearch(const Word (&rows)[kRowCount], const int8_t (&levels)[kLevelCount]) {
    for (size_t k = 0; k < kLevelCount; ++k)
      levels_[k] = static_cast<float>(levels[k]);
    for (size_t r = 0; r < kRowCount; ++r) {
      std::memcpy(rows_[r], &rows[r], kElements);
      halves_[r][0] = combination(rows_[r], levels);
      halves_[r][1] = combination(rows_[r] + kHalf, levels);
    }
  }

  const int8_t* row(int32_t index) const { return rows_[index]; }

  // For elements x = scale * t: the row that minimises sum(w (t - level)^2), and that sum less
  // sum(w t^2). All levels are moved by `shift`.
  // Called from many places and long: inlining it would only cost time to compile.
  [[gnu::noinline]] void find(const Lanes* t, const Lanes* w, float shift, LaneInts& index,
                              Lanes& cost) const {
    Lanes first[kCombinations];
    Lanes second[kCombinations];
    combine(t, w, shift, first);
    combine(t + kHalf, w + kHalf, shift, second);
    Lanes best = first[halves_[0][0]] + second[halves_[0][1]];
    LaneInts best_index{};
    LaneInts at{};
    for (size_t r = 1; r < kRowCount; ++r) {
      at += 1;
      const Lanes sum = first[halves_[r][0]] + second[halves_[r][1]];
      best_index = sum < best ? at : best_index;
      best = lower_of(sum, best);
    }
    index = best_index;
    cost = best;
  }

 private:
  static constexpr size_t kHalf = kElements / 2;
  static constexpr size_t kCombinations = power(kLevelCount, kHalf);
  static_assert(kCombinations <= 256);

  // The levels of half a row as one number, last element first.
  static uint8_t combination(const int8_t* row, const int8_t (&levels)[kLevelCount]) {
    size_t number = 0;
    for (size_t i = kHalf; i-- > 0;) {
      size_t digit = 0;
      while (digit + 1 < kLevelCount && levels[digit] != row[i])
        ++digit;
      number = number * kLevelCount + digit;
    }
    return static_cast<uint8_t>(number);
  }

  inline void combine(const Lanes* t, const Lanes* w, float shift, Lanes* sums) const {
    size_t count = 1;
    sums[0] = Lanes{};
    for (size_t i = 0; i < kHalf; ++i) {
      for (size_t k = kLevelCount; k-- > 0;) {
        const float level = levels_[k] + shift;
        const Lanes cost = w[i] * (level * (level - 2.0F * t[i]));
        for (size_t c = 0; c < count; ++c)
          sums[k * count + c] = sums[c] + cost;
      }
      count *= kLevelCount;
    }
  }

  float levels_[kLevelCount];
  int8_t rows_[kRowCount][kElements];
  uint8_t halves_[kRowCount][2];
};

}  // namespace ingot::quant::INGOT_TARGET
