// SPDX-License-Identifier: Apache-2.0
// is_finite: one NaN scale poisons every token, so loading looks at each scale once. Only the
// scales are read, and the loops have no early exit: good files are the rule.
#include <cstring>

#include "base/check.h"
#include "blocks/elements.h"
#include "blocks/layout.h"
#include "blocks/visit_layout.h"

namespace ingot {
namespace {

template <class Value>
Value load(const std::byte* from) {
  Value value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

// True when is_bad(value) holds nowhere; the values stand `offset` bytes into each block.
template <class Block, class Value, class IsBad>
bool none_is_bad(std::span<const std::byte> bytes, size_t offset, IsBad is_bad) {
  unsigned bad = 0;
  for (size_t at = offset; at < bytes.size(); at += sizeof(Block)) {
    bad |= is_bad(load<Value>(bytes.data() + at)) ? 1u : 0u;
  }
  return bad == 0;
}

bool is_bad_half(uint16_t bits) {
  return (bits & 0x7C00u) == 0x7C00u;
}

template <class Block>
bool halves_are_finite(std::span<const std::byte> bytes, size_t offset) {
  return none_is_bad<Block, uint16_t>(bytes, offset, is_bad_half);
}

template <class Block>
bool scales_are_finite(std::span<const std::byte> bytes) {
  bool is_good = halves_are_finite<Block>(bytes, offsetof(Block, scale));
  if constexpr (requires { &Block::min; }) {
    is_good = is_good && halves_are_finite<Block>(bytes, offsetof(Block, min));
  }
  if constexpr (requires { &Block::min_scale; }) {
    is_good = is_good && halves_are_finite<Block>(bytes, offsetof(Block, min_scale));
  }
  if constexpr (requires { &Block::sum; }) {
    is_good = is_good && halves_are_finite<Block>(bytes, offsetof(Block, sum));
  }
  return is_good;
}

template <>
bool scales_are_finite<Q8_K>(std::span<const std::byte> bytes) {
  return none_is_bad<Q8_K, uint32_t>(bytes, offsetof(Q8_K, scale), [](uint32_t bits) {
    return (bits & 0x7F800000u) == 0x7F800000u;
  });
}

template <>
bool scales_are_finite<IQ1_M>(std::span<const std::byte> bytes) {
  // The exponent of the scale is spread over the top nibbles of the last two words.
  return none_is_bad<IQ1_M, uint32_t>(bytes, offsetof(IQ1_M, group_scales) + 4, [](uint32_t words) {
    return (words & 0x7000C000u) == 0x7000C000u;
  });
}

template <>
bool scales_are_finite<MXFP4>(std::span<const std::byte> bytes) {
  return none_is_bad<MXFP4, uint8_t>(bytes, offsetof(MXFP4, scale),
                                     [](uint8_t bits) { return bits == 0xFF; });
}

template <>
bool scales_are_finite<NVFP4>(std::span<const std::byte> bytes) {
  for (size_t group = 0; group < NVFP4::kGroup / 16; ++group) {
    // The sign bit is not used, so both NaN codes of E4M3 count. Decode takes 0x7F for zero.
    if (!none_is_bad<NVFP4, uint8_t>(bytes, offsetof(NVFP4, group_scales) + group,
                                     [](uint8_t bits) { return (bits & 0x7F) == 0x7F; })) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool is_finite(Layout layout, std::span<const std::byte> bytes) {
  INGOT_CHECK(bytes.size() % info(layout).block_bytes == 0);
  bool is_good = true;
  const bool is_packed =
      visit_layout(layout, [&]<class Block>() { is_good = scales_are_finite<Block>(bytes); });
  return is_packed ? is_good : elements_are_finite(layout, bytes);
}

}  // namespace ingot
