// SPDX-License-Identifier: Apache-2.0
#include "blocks/layout.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "blocks/elements.h"
#include "blocks/visit_layout.h"

namespace ingot {
namespace {

// Files are little-endian and so are the block structs; a big-endian target needs its own decode.
static_assert(std::endian::native == std::endian::little);

constexpr LayoutInfo element(Layout layout, std::string_view name, uint32_t bytes) {
  return {layout, name, 1, bytes, false};
}

template <class Block>
constexpr LayoutInfo block(std::string_view name) {
  return {Block::kLayout, name, Block::kGroup, sizeof(Block), true};
}

constexpr std::array<LayoutInfo, kLayoutCount> kLayouts = {{
    element(Layout::kF32, "F32", 4),
    element(Layout::kF16, "F16", 2),
    element(Layout::kBF16, "BF16", 2),
    element(Layout::kF64, "F64", 8),
    element(Layout::kF8_E4M3, "F8_E4M3", 1),
    element(Layout::kF8_E5M2, "F8_E5M2", 1),
    element(Layout::kF8_E8M0, "F8_E8M0", 1),
    element(Layout::kI8, "I8", 1),
    element(Layout::kI16, "I16", 2),
    element(Layout::kI32, "I32", 4),
    element(Layout::kI64, "I64", 8),
    element(Layout::kU8, "U8", 1),
    element(Layout::kU16, "U16", 2),
    element(Layout::kU32, "U32", 4),
    element(Layout::kU64, "U64", 8),
    element(Layout::kBool, "BOOL", 1),
    element(Layout::kC64, "C64", 8),
    {Layout::kF4_E2M1, "F4_E2M1", 2, 1, false},
    {Layout::kF6_E2M3, "F6_E2M3", 4, 3, false},
    {Layout::kF6_E3M2, "F6_E3M2", 4, 3, false},
    block<Q4_0>("Q4_0"),
    block<Q4_1>("Q4_1"),
    block<Q5_0>("Q5_0"),
    block<Q5_1>("Q5_1"),
    block<Q8_0>("Q8_0"),
    block<Q8_1>("Q8_1"),
    block<Q2_K>("Q2_K"),
    block<Q3_K>("Q3_K"),
    block<Q4_K>("Q4_K"),
    block<Q5_K>("Q5_K"),
    block<Q6_K>("Q6_K"),
    block<Q8_K>("Q8_K"),
    block<IQ1_S>("IQ1_S"),
    block<IQ1_M>("IQ1_M"),
    block<IQ2_XXS>("IQ2_XXS"),
    block<IQ2_XS>("IQ2_XS"),
    block<IQ2_S>("IQ2_S"),
    block<IQ3_XXS>("IQ3_XXS"),
    block<IQ3_S>("IQ3_S"),
    block<IQ4_NL>("IQ4_NL"),
    block<IQ4_XS>("IQ4_XS"),
    block<TQ1_0>("TQ1_0"),
    block<TQ2_0>("TQ2_0"),
    block<MXFP4>("MXFP4"),
    block<NVFP4>("NVFP4"),
    block<Q1_0>("Q1_0"),
    block<Q2_0>("Q2_0"),
}};

constexpr bool is_in_enum_order() {
  for (size_t i = 0; i < kLayoutCount; ++i) {
    if (static_cast<size_t>(kLayouts[i].layout) != i) return false;
  }
  return true;
}
static_assert(is_in_enum_order());

constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

template <class Block>
void dequantize_blocks(std::span<const std::byte> bytes, std::span<float> out) {
  const std::byte* from = bytes.data();
  for (size_t i = 0; i < out.size(); i += Block::kGroup, from += sizeof(Block)) {
    Block copy{};  // a file's bytes need not be aligned for the struct
    std::memcpy(&copy, from, sizeof(Block));
    dequantize(copy, std::span<float, Block::kGroup>(out.data() + i, Block::kGroup));
  }
}

}  // namespace

const LayoutInfo& info(Layout layout) {
  return kLayouts[static_cast<size_t>(layout)];
}

std::optional<Layout> layout_named(std::string_view name) {
  for (const LayoutInfo& candidate : kLayouts) {
    if (equal_ignoring_case(candidate.name, name)) return candidate.layout;
  }
  return std::nullopt;
}

CheckedSize storage_bytes(Layout layout, CheckedSize elements) {
  const LayoutInfo& about = info(layout);
  const std::optional<uint64_t> count = elements.value();
  if (!count || *count % about.block_elements != 0) return CheckedSize::invalid();
  return CheckedSize(*count / about.block_elements) * CheckedSize(about.block_bytes);
}

void dequantize(Layout layout, std::span<const std::byte> bytes, std::span<float> out) {
  const CheckedSize needed = storage_bytes(layout, CheckedSize(out.size()));
  INGOT_CHECK(needed.is_valid() && needed.value_or(0) == bytes.size());
  const bool is_packed =
      visit_layout(layout, [&]<class Block>() { dequantize_blocks<Block>(bytes, out); });
  if (!is_packed) decode_elements(layout, bytes, out);
}

}  // namespace ingot
