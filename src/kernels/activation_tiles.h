// SPDX-License-Identifier: Apache-2.0
// Packed inputs, token by token, arranged for kernels of many tokens: as tiles of sixteen tokens
// for matrix instructions, which want them side by side (read from rows that lie kilobytes apart, a
// tile's lines would meet in a few sets of the cache), or with their codes widened to words.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/activation_layout.h"

namespace ingot {

// The rows that an arrangement is made of; any other layout is its own.
ActivationLayout rows_of(ActivationLayout layout);
inline bool is_arranged(ActivationLayout layout) {
  return rows_of(layout) != layout;
}

struct ArrangeArgs {
  const std::byte* rows;  // [tokens] in rows_of(layout)
  int64_t cols;
  int64_t tokens;
  std::byte* out;  // aligned to a cache line
};
// Arranges groups of sixteen tokens [begin, end).
void arrange_rows(ActivationLayout layout, const ArrangeArgs& args, int64_t begin, int64_t end);
// Bytes of sixteen tokens.
size_t arranged_bytes(ActivationLayout layout, int64_t cols);

}  // namespace ingot
