// SPDX-License-Identifier: Apache-2.0
// Bytes of packed tensors: codes into 32-bit words, numbers into little-endian bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/float_types.h"
#include "blocks/layout_id.h"

namespace ingot {

template <class Value>
std::vector<std::byte> bytes_of(std::span<const Value> values) {
  const auto bytes = std::as_bytes(values);
  return {bytes.begin(), bytes.end()};
}

// Code `index` of a stream of `bits` each, in words `stride` apart; the low bits come first.
inline void put_code(std::vector<uint32_t>& words, size_t first, size_t stride, int64_t index,
                     int bits, uint32_t code) {
  const auto at = static_cast<size_t>(index * bits);
  const size_t shift = at % 32;
  words[first + at / 32 * stride] |= code << shift;
  if (shift + static_cast<size_t>(bits) > 32)
    words[first + (at / 32 + 1) * stride] |= code >> (32 - shift);
}

// Floats in the layout that scales are stored in, which already holds them exactly.
inline std::vector<std::byte> scale_bytes(std::span<const float> scales, Layout layout) {
  if (layout == Layout::kF32) return bytes_of(scales);
  std::vector<uint16_t> values;
  for (const float scale : scales) {
    values.push_back(layout == Layout::kF16 ? to_half(scale).bits : to_bfloat16(scale).bits);
  }
  INGOT_CHECK(layout == Layout::kF16 || layout == Layout::kBF16);
  return bytes_of(std::span<const uint16_t>(values));
}

// [groups][rows] from [rows][groups].
inline std::vector<float> by_group(const std::vector<float>& scales, int64_t rows, int64_t groups) {
  std::vector<float> result(scales.size());
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t group = 0; group < groups; ++group) {
      result[static_cast<size_t>(group * rows + row)] =
          scales[static_cast<size_t>(row * groups + group)];
    }
  }
  return result;
}

inline uint64_t extent(int64_t value) {
  return static_cast<uint64_t>(value);
}

}  // namespace ingot
