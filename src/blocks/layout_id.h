// SPDX-License-Identifier: Apache-2.0
// The name of every storage layout, and nothing else: block headers and the per-target kernel files
// that include them must not pull in inline bodies (blocks/layout.h is for everyone else).
#pragma once

#include <cstddef>
#include <cstdint>

namespace ingot {

// Names follow the field's own (GGML for blocks, safetensors for elements), hence the underscores.
// clang-format off
enum class Layout : uint8_t {
  // one element each
  kF32, kF16, kBF16, kF64,
  kF8_E4M3, kF8_E5M2, kF8_E8M0,
  kI8, kI16, kI32, kI64, kU8, kU16, kU32, kU64, kBool, kC64,
  // several elements in a few bytes, no scale (safetensors' packed floats)
  kF4_E2M1, kF6_E2M3, kF6_E3M2,
  // blocks with scales
  kQ4_0, kQ4_1, kQ5_0, kQ5_1, kQ8_0, kQ8_1,
  kQ2_K, kQ3_K, kQ4_K, kQ5_K, kQ6_K, kQ8_K,
  kIQ1_S, kIQ1_M, kIQ2_XXS, kIQ2_XS, kIQ2_S, kIQ3_XXS, kIQ3_S, kIQ4_NL, kIQ4_XS,
  kTQ1_0, kTQ2_0, kMXFP4, kNVFP4, kQ1_0, kQ2_0,
};
// clang-format on
inline constexpr size_t kLayoutCount = static_cast<size_t>(Layout::kQ2_0) + 1;

}  // namespace ingot
