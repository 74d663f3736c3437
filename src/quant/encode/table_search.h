// SPDX-License-Identifier: Apache-2.0
// The row of a table (IQ1, IQ2, IQ3) nearest to a few weights, in every lane: all rows are tried.
// What keeps that quick: an element takes one of few levels, so its cost is computed once a level;
// the costs of half rows are summed once for all their combinations; a row then costs an addition
// and a comparison, of integers whose low bits say which combinations they are.
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
    size_t filled = 0;
    for (size_t first = 0; first < kCombinations; ++first) {
      for (size_t r = 0; r < kRowCount; ++r) {
        int8_t row[kElements];
        std::memcpy(row, &rows[r], kElements);
        if (combination(row, levels) != first) continue;
        const size_t second = combination(row + kHalf, levels);
        seconds_[filled++] = static_cast<uint8_t>(second);
        rows_[first][second] = static_cast<uint16_t>(r);
      }
      ends_[first] = static_cast<uint16_t>(filled);
    }
  }

  // For elements x = scale * t: both combinations of the row with the least sum(w (t - level)^2),
  // all levels moved by `shift`. Sums that differ by a few 2^-16 of the highest count as equal.
  // Called from many places and long: inlining it would only cost time to compile.
  [[gnu::noinline]] void find(const Lanes* t, const Lanes* w, float shift, LaneInts& both) const {
    Lanes highest{};
    for (size_t i = 0; i < kElements; ++i) {
      const Lanes low = t[i] - (levels_[0] + shift);
      const Lanes high = t[i] - (levels_[kLevelCount - 1] + shift);
      highest += w[i] * higher_of(low * low, high * high);
    }
    const Lanes unit = 0x1p16F * inverse_or_zero(highest);
    LaneWords sums[2][kCombinations];
    combine(t, w, unit, shift, 0, sums[0]);
    combine(t + kHalf, w + kHalf, unit, shift, kNumberBits, sums[1]);
    LaneInts best = LaneInts{} + INT32_MAX;
    size_t at = 0;
    for (size_t first = 0; first < kCombinations; ++first) {
      const LaneWords base = sums[0][first];
      for (; at < ends_[first]; ++at) {
        const LaneInts sum = reinterpret_cast<LaneInts>(base + sums[1][seconds_[at]]);
        best = sum < best ? sum : best;
      }
    }
    both = best & ((1 << (2 * kNumberBits)) - 1);
  }

  // The number of the row that find has named, for one lane.
  unsigned index(int32_t both) const { return rows_[both & kNumberMask][both >> kNumberBits]; }

  // The row's levels, without shift.
  inline void levels(LaneInts both, Lanes (&to)[kElements]) const {
    LaneInts rest[2] = {both & kNumberMask, both >> kNumberBits};
    for (size_t i = 0; i < kElements; ++i) {
      LaneInts& number = rest[i / kHalf];
      const LaneInts quotient = (number * kReciprocal) >> 9;
      const LaneInts digit = number - quotient * static_cast<int32_t>(kLevelCount);
      number = quotient;
      Lanes level = broadcast(levels_[0]);
      for (size_t k = 1; k < kLevelCount; ++k)
        level = digit == static_cast<int32_t>(k) ? broadcast(levels_[k]) : level;
      to[i] = level;
    }
  }

 private:
  static constexpr size_t kHalf = kElements / 2;
  static constexpr size_t kCombinations = power(kLevelCount, kHalf);
  static constexpr int kNumberBits = 7;
  static constexpr int32_t kNumberMask = (1 << kNumberBits) - 1;
  static_assert(kCombinations <= (1u << kNumberBits));
  // number * kReciprocal / 512 is number / kLevelCount for numbers up to 127.
  static constexpr int32_t kReciprocal = (512 + kLevelCount - 1) / kLevelCount;

  // The levels of half a row as one number, its first element the lowest digit.
  static size_t combination(const int8_t* row, const int8_t (&levels)[kLevelCount]) {
    size_t number = 0;
    for (size_t i = kHalf; i-- > 0;) {
      size_t digit = 0;
      while (digit + 1 < kLevelCount && levels[digit] != row[i])
        ++digit;
      number = number * kLevelCount + digit;
    }
    return number;
  }

  // Costs in the high bits, and below them, at number_shift, the number of the combination: both
  // add up from element to element.
  inline void combine(const Lanes* t, const Lanes* w, Lanes unit, float shift, int number_shift,
                      LaneWords* sums) const {
    constexpr float kOnes = 12582912.0F;  // as in round(): the integer is then in the low bits
    uint32_t count = 1;
    sums[0] = LaneWords{};
    for (size_t i = 0; i < kHalf; ++i) {
      const Lanes weight = w[i] * unit;
      for (uint32_t k = kLevelCount; k-- > 0;) {
        const Lanes off = t[i] - (levels_[k] + shift);
        const LaneWords bits = reinterpret_cast<LaneWords>(weight * (off * off) + kOnes);
        const LaneWords cost = (bits << (2 * kNumberBits)) + ((k * count) << number_shift);
        for (uint32_t c = 0; c < count; ++c)
          sums[k * count + c] = sums[c] + cost;
      }
      count *= kLevelCount;
    }
  }

  float levels_[kLevelCount];
  uint16_t ends_[kCombinations];  // of each first combination's part of seconds_
  uint8_t seconds_[kRowCount];
  // Zero where there is no row, and large enough for what weights that are not finite may name.
  uint16_t rows_[1 << kNumberBits][1 << kNumberBits] = {};
};

}  // namespace ingot::quant::INGOT_TARGET
