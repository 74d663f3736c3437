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

namespace ingot {

// Names follow the field's own (GGML for blocks, safetensors for elements), hence the underscores.
enum class Layout : uint8_t {
  // one element each
  kF32,
  kF16,
  kBF16,
  kF64,
  kF8_E4M3,
  kF8_E5M2,
  kF8_E8M0,
  kI8,
  kI16,
  kI32,
  kI64,
  kU8,
  kU16,
  kU32,
  kU64,
  kBool,
  kC64,
  // several elements in a few bytes, no scale (safetensors' packed floats)
  kF4_E2M1,
  kF6_E2M3,
  kF6_E3M2,
  // blocks with scales
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ8_1,
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kQ8_K,
  kIQ1_S,
  kIQ1_M,
  kIQ2_XXS,
  kIQ2_XS,
  kIQ2_S,
  kIQ3_XXS,
  kIQ3_S,
  kIQ4_NL,
  kIQ4_XS,
  kTQ1_0,
  kTQ2_0,
  kMXFP4,
  kNVFP4,
  kQ1_0,
  kQ2_0,
};
inline constexpr size_t kLayoutCount = static_cast<size_t>(Layout::kQ2_0) + 1;

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
// out.size() must be a multiple of the block; bytes.size() its storage. Integers convert by value.
void dequantize(Layout layout, std::span<const std::byte> bytes, std::span<float> out);
// False when a scale in these blocks (or an element of a float layout) is NaN or infinite.
bool is_finite(Layout layout, std::span<const std::byte> bytes);

}  // namespace ingot
