// SPDX-License-Identifier: Apache-2.0
// How many tokens share the loads of a kernel. Sanitized builds take few: every number of tokens is
// unrolled by itself, and their compiler needs minutes for what nobody times.
#pragma once

#include <cstdint>

namespace ingot::cpu {

#if INGOT_SMALL_TILES
constexpr int64_t tile_tokens(int64_t) {
  return 2;
}
#else
constexpr int64_t tile_tokens(int64_t best) {
  return best;
}
#endif

}  // namespace ingot::cpu
