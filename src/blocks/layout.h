// SPDX-License-Identifier: Apache-2.0
// Every way in which numbers are stored, in files and in memory: plain element types and packed
// blocks of quantized weights. A layout is what a kernel eats; formats/ maps a file's type names to
// it, and each packed layout has its own small header with the block's struct and the scalar truth.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/checked.h"
#include "blocks/layout_id.h"

namespace ingot {

struct LayoutInfo {
  Layout layout;
  std::string_view name;    // "Q4_K", "BF16": what people read and type
  uint32_t block_elements;  // 1 for plain element types
  uint32_t block_bytes;
  bool is_quantized;  // has scales: a weight, never an index or a flag
};

const LayoutInfo& info(Layout layout);
std::optional<Layout> layout_named(std::string_view name);  // case-insensitive
// Bytes of `elements` values; invalid when they do not fill whole blocks or the size overflows.
CheckedSize storage_bytes(Layout layout, CheckedSize elements);

// Exact decode of whole blocks to float: the truth that every kernel is tested against.
// out.size() must be a multiple of the block; bytes.size() its storage, at any alignment. Integers
// convert by value, F64 rounds to float, C64 gives its real part.
void dequantize(Layout layout, std::span<const std::byte> bytes, std::span<float> out);
// False when a scale in these blocks (or an element of a float layout) is NaN or infinite. An F64
// counts as infinite when it is so as a float. bytes.size() must be whole blocks.
bool is_finite(Layout layout, std::span<const std::byte> bytes);

}  // namespace ingot
