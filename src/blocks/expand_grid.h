// SPDX-License-Identifier: Apache-2.0
// Turns the compact tables of *_grid_data.h into the ones of iq_grids.h, at compile time: a row is
// stored as one number whose 2-bit (or 3-bit) digits, lowest first, pick a level each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "blocks/grid_rows.h"

namespace ingot {

// The digits of `packed`, each replaced by its level, one byte per element.
template <size_t kElements, size_t kBits, size_t kLevels>
constexpr uint64_t expand_row(uint16_t packed, const int8_t (&levels)[kLevels]) {
  uint64_t row = 0;
  for (size_t i = 0; i < kElements; ++i) {
    const size_t digit = (packed >> (kBits * i)) & ((1u << kBits) - 1);
    row |= static_cast<uint64_t>(static_cast<uint8_t>(levels[digit])) << (8 * i);
  }
  return row;
}

template <size_t kRows>
constexpr GridOf8<kRows> expand_grid_of_8(const uint16_t (&packed)[kRows],
                                          const int8_t (&levels)[3]) {
  GridOf8<kRows> grid{};
  for (size_t i = 0; i < kRows; ++i)
    grid.rows[i] = expand_row<8, 2>(packed[i], levels);
  return grid;
}

template <size_t kRows>
constexpr GridOf4<kRows> expand_grid_of_4(const uint16_t (&packed)[kRows],
                                          const int8_t (&levels)[8]) {
  GridOf4<kRows> grid{};
  for (size_t i = 0; i < kRows; ++i) {
    grid.rows[i] = static_cast<uint32_t>(expand_row<4, 3>(packed[i], levels));
  }
  return grid;
}

}  // namespace ingot
