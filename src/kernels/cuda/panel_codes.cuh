// SPDX-License-Identifier: Apache-2.0
// Codes of a panel's run (kernels/panel.h) as a lane of a warp wants them: lane (g, t) reads words
// of one row, each four columns, and turns them into two words of bytes: columns 8t ... 8t + 3 and
// 8t + 4 ... 8t + 7. Where a scale covers 16 columns, lanes t < 2 have the first half of the run.
#pragma once

#include <cstdint>

#include "kernels/packing.h"

namespace ingot::cuda {

struct BytePair {
  uint32_t low;
  uint32_t high;
};

constexpr uint32_t kEachByte = 0x01010101;

constexpr uint32_t level_word(const int8_t* levels, int first) {
  uint32_t word = 0;
  for (int i = 0; i < 4; ++i)
    word |= static_cast<uint32_t>(static_cast<uint8_t>(levels[first + i])) << (8 * i);
  return word;
}

// A table of sixteen bytes.
struct Levels {
  uint32_t words[4];
};
constexpr Levels levels_of(const int8_t* levels) {
  return {{level_word(levels, 0), level_word(levels, 4), level_word(levels, 8),
           level_word(levels, 12)}};
}

// What the low and the high nibbles of each byte stand for.
__device__ inline BytePair look_up_nibbles(uint32_t nibbles, const Levels& table) {
  const uint32_t index = nibbles & 0x77777777;
  const uint32_t choice = 0x32103210 | ((nibbles & 0x88888888) >> 1);
  const uint32_t first = __byte_perm(__byte_perm(table.words[0], table.words[1], index),
                                     __byte_perm(table.words[2], table.words[3], index), choice);
  const uint32_t second =
      __byte_perm(__byte_perm(table.words[0], table.words[1], index >> 16),
                  __byte_perm(table.words[2], table.words[3], index >> 16), choice >> 16);
  return {__byte_perm(first, second, 0x6420), __byte_perm(first, second, 0x7531)};
}

// What four bytes from 0 to 7 stand for.
__device__ inline uint32_t look_up_bytes(uint32_t codes, const Levels& table) {
  const uint32_t pairs = codes | (codes >> 4);
  return __byte_perm(table.words[0], table.words[1], __byte_perm(pairs, 0, 0x4420));
}

template <int kBits>
struct RunCodes {
  static constexpr bool kHasFour = kBits == 4 || kBits == 5 || kBits == 6;
  static constexpr bool kHasTwo = kBits == 2 || kBits == 3 || kBits == 6;
  static constexpr bool kHasOne = kBits == 1 || kBits == 3 || kBits == 5;
  static constexpr int kWords =
      kBits == 8 ? 2 : (kHasFour ? 1 : 0) + (kHasTwo ? 1 : 0) + (kHasOne ? 1 : 0);
  static constexpr int kTwoAt = kHasFour ? 1 : 0;
  static constexpr int kOneAt = kWords - 1;

  uint32_t words[kWords];

  __device__ void load(const uint32_t* run, int row, int t) {
    run += row;
    if constexpr (kBits == 8) {
      words[0] = run[16 * (2 * t)];
      words[1] = run[16 * (2 * t + 1)];
      return;
    }
    if constexpr (kHasFour) {
      words[0] = run[16 * t];
      run += 16 * 4;
    }
    if constexpr (kHasTwo) {
      words[kTwoAt] = run[16 * (t / 2)];
      run += 16 * 2;
    }
    if constexpr (kHasOne) words[kOneAt] = *run;
  }

  // The codes as they are stored, from zero up.
  __device__ BytePair plain(int t) const {
    if constexpr (kBits == 8) return {words[0], words[1]};
    BytePair codes{0, 0};
    if constexpr (kHasFour) {
      codes.low = words[0] & (15 * kEachByte);
      codes.high = (words[0] >> 4) & (15 * kEachByte);
    }
    if constexpr (kHasTwo) {
      const uint32_t own = words[kTwoAt] >> (4 * (t & 1));
      if constexpr (kHasFour) {
        codes.low |= (own << 4) & (0x30 * kEachByte);
        codes.high |= (own << 2) & (0x30 * kEachByte);
      } else {
        codes.low = own & (3 * kEachByte);
        codes.high = (own >> 2) & (3 * kEachByte);
      }
    }
    if constexpr (kHasOne) {
      constexpr int kShift = kBits - 1;
      const uint32_t own = words[kOneAt] >> (2 * t);
      codes.low |= (own & kEachByte) << kShift;
      codes.high |= ((own >> 1) & kEachByte) << kShift;
    }
    return codes;
  }
};

// A packing's facts as constants.
template <Packing kPacking>
struct PackingFacts {
  static constexpr PackingInfo kInfo = kPackings[static_cast<int>(kPacking)];
  static constexpr int kBits = kInfo.bits;
  static constexpr bool kInHalves = kInfo.group_columns == 16;
  static constexpr bool kHasLevels = kInfo.levels != nullptr;
  static constexpr bool kHasLowLevels = kInfo.low_levels != nullptr;
  static constexpr bool kInBlocks = kInfo.activation == ActivationLayout::kQ8G256;
  static constexpr bool kHasZeros = kInfo.form == ScaleForm::kZeros;
  static constexpr bool kIsSigned = kHasLevels || kInfo.offset != 0;
  static constexpr PanelShape kShape = shape_of_panel(kPacking, kBlockColumns);
  using Codes = RunCodes<kBits>;

  // What is multiplied by inputs: codes less their offset, or levels.
  static __device__ BytePair values(const Codes& codes, [[maybe_unused]] int t) {
    if constexpr (kHasLevels && kBits == 4) {
      constexpr Levels kTable = levels_of(kInfo.levels);
      return look_up_nibbles(codes.words[0], kTable);
    } else if constexpr (kHasLevels && kBits == 1) {  // -1 and 1
      const BytePair plain = codes.plain(t);
      return {((plain.low ^ kEachByte) * 255u) | plain.low,
              ((plain.high ^ kEachByte) * 255u) | plain.high};
    } else if constexpr (kHasLevels) {
      constexpr Levels kTable = levels_of(kInfo.levels);
      const BytePair plain = codes.plain(t);
      return {look_up_bytes(plain.low, kTable), look_up_bytes(plain.high, kTable)};
    } else if constexpr (kInfo.offset == 128) {
      const BytePair plain = codes.plain(t);
      return {plain.low ^ 0x80808080, plain.high ^ 0x80808080};
    } else if constexpr (kInfo.offset != 0) {
      constexpr uint32_t kAdd = static_cast<uint32_t>(128 - kInfo.offset) * kEachByte;
      const BytePair plain = codes.plain(t);
      return {(plain.low + kAdd) ^ 0x80808080, (plain.high + kAdd) ^ 0x80808080};
    } else {
      return codes.plain(t);
    }
  }
  // The low bytes of levels of two: level = 128 * values() + low_values().
  static __device__ BytePair low_values(const Codes& codes) {
    if constexpr (kHasLowLevels) {
      constexpr Levels kTable = levels_of(kInfo.low_levels);
      return look_up_nibbles(codes.words[0], kTable);
    } else {
      return {0, 0};
    }
  }
};

}  // namespace ingot::cuda
