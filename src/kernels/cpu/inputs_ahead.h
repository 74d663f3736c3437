// SPDX-License-Identifier: Apache-2.0
// Asks for inputs that no rows have passed by yet: their tokens lie a row apart, so no prefetcher
// of the processor's sees a stream. For 32 rows of 14336 columns, as the last that a thread takes
// of a linear are, it is worth 15 to 25 %. In an anonymous namespace on purpose, as each target has
// it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ingot::cpu {
namespace {

inline constexpr int64_t kTokensAhead = 8;

// One block of `count` tokens from kTokensAhead on. Always inlined: by itself it has no effect that
// the compiler would keep.
template <class Input>
[[gnu::always_inline]] inline void ask_for_inputs(const Input* x, int64_t stride, int64_t count) {
  constexpr int64_t kLineOfCache = 64;
  constexpr int kIntoL2 = 2;
  for (int64_t t = kTokensAhead; t < kTokensAhead + count; ++t) {
    const auto* from = reinterpret_cast<const char*>(x + t * stride);
    for (size_t i = 0; i < sizeof(Input); i += kLineOfCache)
      __builtin_prefetch(from + i, 0, kIntoL2);
  }
}

}  // namespace
}  // namespace ingot::cpu
