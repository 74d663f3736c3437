// SPDX-License-Identifier: Apache-2.0
// A lookup table of the IQ blocks: rows of 8 (or 4) small values, element i in byte i counted from
// the low end.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ingot {

template <size_t kRows>
struct GridOf8 {
  uint64_t rows[kRows];
};
template <size_t kRows>
struct GridOf4 {
  uint32_t rows[kRows];
};

}  // namespace ingot
