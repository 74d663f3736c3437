// SPDX-License-Identifier: Apache-2.0
// Signs apart from magnitudes, for IQ2 and IQ3, eight elements to a byte. Where only seven are
// stored their number must be even: then the sign that matters least is wrong, and its element
// enters the search as a negative magnitude.
#pragma once

#include "quant/encode/group_batch.h"

namespace ingot::quant::INGOT_TARGET {

// Makes x magnitudes; signs[r] has bit i for element 8r + i.
template <size_t kSize>
inline void split_signs(GroupBatch<kSize>& batch, bool is_even, LaneInts (&signs)[kSize / 8]) {
  for (size_t r = 0; r < kSize / 8; ++r) {
    Lanes* x = batch.x + 8 * r;
    LaneInts bits{};
    LaneInts parity{};
    Lanes least = broadcast(0x1p126F);
    LaneInts weakest{};
    for (int i = 0; i < 8; ++i) {
      const LaneInts is_negative = x[i] < 0.0F;
      bits |= is_negative & broadcast(1 << i);
      parity ^= is_negative;
      const Lanes loss = batch.w[8 * r + static_cast<size_t>(i)] * x[i] * x[i];
      weakest = loss < least ? broadcast(i) : weakest;
      least = lower_of(loss, least);
      x[i] = magnitude(x[i]);
    }
    if (is_even) {
      for (int i = 0; i < 8; ++i) {
        const LaneInts is_flipped = parity & (weakest == broadcast(i));
        x[i] = is_flipped ? -x[i] : x[i];
        bits ^= is_flipped & broadcast(1 << i);
      }
    }
    signs[r] = bits;
  }
}

}  // namespace ingot::quant::INGOT_TARGET
