// SPDX-License-Identifier: Apache-2.0
// Groups on one grid of levels, each with a small signed integer as its scale under one fp16 scale
// of the block (Q3_K, Q6_K, IQ4_XS). First each group's best scale alone; then the block's scale;
// then for every group the integers around its scale are tried with the levels they imply; then the
// block's scale that is best for those levels, and the integers once more. The better stays.
#pragma once

#include "quant/encode/group_batch.h"
#include "quant/encode/half_lanes.h"
#include "quant/encode/symmetric_fit.h"

namespace ingot::quant::INGOT_TARGET {

struct ScaledGroups {
  Lanes block_scale;  // a run of lanes, the groups of one block, is alike
  Lanes integers;     // in [-small_zero, small_zero - 1]
};

struct GroupIntegers {
  Lanes scale;
  Lanes error;
};

template <size_t kSize, class Grid>
inline GroupIntegers choose_integers(const GroupBatch<kSize>& batch, Lanes group_scale,
                                     Lanes block_scale, float small_zero, const Grid& grid) {
  const float low = -small_zero;
  const float high = small_zero - 1.0F;
  const Lanes near = nearest(group_scale * inverse_or_zero(block_scale), low, high);
  GroupIntegers best{near, broadcast(-1.0F)};
  for (const float step : {0.0F, -1.0F, 1.0F}) {
    const Lanes integer = nearest(near + step, low, high);
    const Lanes scale = block_scale * integer;
    const Lanes inverse = inverse_or_zero(scale);
    Lanes error{};
    for (size_t i = 0; i < kSize; ++i) {
      const Lanes off = scale * grid(batch.x[i] * inverse) - batch.x[i];
      error += batch.w[i] * off * off;
    }
    const auto is_better = (best.error < 0.0F) | (error < best.error);
    best.scale = is_better ? integer : best.scale;
    best.error = is_better ? error : best.error;
  }
  return best;
}

template <size_t kWidth, size_t kSize, class Grid>
inline Lanes refit_block_scale(const GroupBatch<kSize>& batch, Lanes block_scale, Lanes integers,
                               const Grid& grid) {
  const Lanes inverse = inverse_or_zero(block_scale * integers);
  Lanes sum_ll{};
  Lanes sum_xl{};
  for (size_t i = 0; i < kSize; ++i) {
    const Lanes level = grid(batch.x[i] * inverse);
    const Lanes weighted = batch.w[i] * level;
    sum_ll += weighted * level;
    sum_xl += weighted * batch.x[i];
  }
  const Lanes ss = sum_within<kWidth>(integers * integers * sum_ll);
  const Lanes sx = sum_within<kWidth>(integers * sum_xl);
  return round_to_half(ss > 0.0F ? sx / ss : block_scale);
}

template <size_t kWidth, size_t kSize, class Grid>
inline ScaledGroups settle_groups(const GroupBatch<kSize>& batch, Lanes group_scale,
                                  float small_zero, const Grid& grid) {
  // The group scale of largest magnitude takes the end with one integer more.
  const Lanes high = highest_within<kWidth>(group_scale);
  const Lanes low = -highest_within<kWidth>(-group_scale);
  const Lanes first_scale = round_to_half((high > -low ? high : low) / -small_zero);
  const GroupIntegers first = choose_integers(batch, group_scale, first_scale, small_zero, grid);
  const Lanes other_scale = refit_block_scale<kWidth>(batch, first_scale, first.scale, grid);
  const GroupIntegers other = choose_integers(batch, group_scale, other_scale, small_zero, grid);
  const auto is_better = sum_within<kWidth>(other.error) < sum_within<kWidth>(first.error);
  return {is_better ? other_scale : first_scale, is_better ? other.scale : first.scale};
}

}  // namespace ingot::quant::INGOT_TARGET
