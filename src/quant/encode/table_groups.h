// SPDX-License-Identifier: Apache-2.0
// Blocks of groups whose elements are rows of a table (IQ1, IQ2, IQ3): weight = scale * unit *
// (2 * code + 1) * level, with a small code a group. Each group's best scale alone by search; then
// the block's scale; the two codes nearest to each group's scale are tried with the rows they
// imply; then the block's scale that is best for those rows, and the codes once more. The better
// stays.
//
// `Groups` says how a group is made of rows:
//   static constexpr size_t kSize, kRows, kWidth;   elements and rows a group, groups a block
//   float unit, highest_code;
//   void find(const GroupBatch<kSize>&, Lanes inverse, TableFit<kRows>&) const;
#pragma once

#include "quant/encode/group_batch.h"
#include "quant/encode/half_lanes.h"
#include "quant/encode/symmetric_fit.h"

namespace ingot::quant::INGOT_TARGET {

// The rows chosen for one guess of the groups' scales.
template <size_t kRows>
struct TableFit {
  Lanes sum_xl;  // of weight * element * level
  Lanes sum_ll;
  LaneInts row[kRows];  // as the table names it
  LaneInts flags;       // what else Groups::find has chosen, a bit a row
};

template <class Groups>
struct TableChoice {
  Lanes block_scale;
  Lanes code;
  Lanes error;  // of the group, less sum(w x^2)
  TableFit<Groups::kRows> rows;
};

// Adds a chosen row to the sums.
template <class Table>
inline void add_row(const Table& table, LaneInts row, Lanes shift, const Lanes* x, const Lanes* w,
                    Lanes& sum_xl, Lanes& sum_ll) {
  Lanes levels[Table::kSize];
  table.levels(row, levels);
  for (size_t i = 0; i < Table::kSize; ++i) {
    const Lanes level = levels[i] + shift;
    const Lanes weighted = w[i] * level;
    sum_xl += weighted * x[i];
    sum_ll += weighted * level;
  }
}

template <size_t kRows>
inline void keep_better(LaneInts is_better, const TableFit<kRows>& other, TableFit<kRows>& best) {
  best.sum_xl = is_better ? other.sum_xl : best.sum_xl;
  best.sum_ll = is_better ? other.sum_ll : best.sum_ll;
  best.flags = is_better ? other.flags : best.flags;
  for (size_t r = 0; r < kRows; ++r)
    best.row[r] = is_better ? other.row[r] : best.row[r];
}

template <class Groups, size_t kTargets>
inline Lanes fit_groups(const Groups& groups, const GroupBatch<Groups::kSize>& batch,
                        const float (&targets)[kTargets], int rounds) {
  const Lanes peak = magnitude(extreme(batch.x));
  const Lanes inverse_peak = inverse_or_zero(peak);
  Lanes best_scale = peak / targets[0];
  Lanes best_gain{};
  const auto guess = [&](Lanes inverse) {
    TableFit<Groups::kRows> fit;
    groups.find(batch, inverse, fit);
    const Lanes scale = fit.sum_xl / fit.sum_ll;
    const Lanes gain = scale * fit.sum_xl;
    const auto is_better = (gain > best_gain) & (scale > 0.0F);
    best_scale = is_better ? scale : best_scale;
    best_gain = is_better ? gain : best_gain;
  };
  for (const float target : targets)
    guess(inverse_peak * target);
  for (int i = 0; i < rounds; ++i)
    guess(inverse_or_zero(best_scale));
  return best_scale;
}

// The better of the two codes around each group's scale.
template <class Groups>
inline TableChoice<Groups> choose_codes(const Groups& groups,
                                        const GroupBatch<Groups::kSize>& batch, Lanes group_scale,
                                        Lanes block_scale) {
  const Lanes unit = block_scale * groups.unit;
  const Lanes exact = 0.5F * (group_scale * inverse_or_zero(unit) - 1.0F);
  const Lanes near = nearest(exact, 0.0F, groups.highest_code);
  const Lanes beside = nearest(exact > near ? near + 1.0F : near - 1.0F, 0.0F, groups.highest_code);
  TableChoice<Groups> best{block_scale, near, Lanes{}, {}};
  const auto error_with = [&](Lanes code, TableFit<Groups::kRows>& rows) {
    const Lanes scale = unit * (2.0F * code + 1.0F);
    groups.find(batch, inverse_or_zero(scale), rows);
    return scale * (scale * rows.sum_ll - 2.0F * rows.sum_xl);
  };
  best.error = error_with(near, best.rows);
  TableFit<Groups::kRows> rows;
  const Lanes error = error_with(beside, rows);
  const auto is_better = error < best.error;
  best.code = is_better ? beside : best.code;
  best.error = is_better ? error : best.error;
  keep_better(is_better, rows, best.rows);
  return best;
}

template <class Groups, size_t kTargets>
inline TableChoice<Groups> choose_rows(const Groups& groups, const GroupBatch<Groups::kSize>& batch,
                                       const float (&targets)[kTargets], int rounds) {
  constexpr size_t kWidth = Groups::kWidth;
  const Lanes group_scale = fit_groups(groups, batch, targets, rounds);
  const float most = groups.unit * (2.0F * groups.highest_code + 1.0F);
  const Lanes first_scale = round_to_half(highest_within<kWidth>(group_scale) / most);
  TableChoice<Groups> best = choose_codes(groups, batch, group_scale, first_scale);
  for (int round = 0; round < 2; ++round) {
    const Lanes factor = groups.unit * (2.0F * best.code + 1.0F);
    const Lanes ss = sum_within<kWidth>(factor * factor * best.rows.sum_ll);
    const Lanes sx = sum_within<kWidth>(factor * best.rows.sum_xl);
    const auto is_solvable = (ss > 0.0F) & (sx > 0.0F);
    const Lanes scale = round_to_half(is_solvable ? sx / ss : best.block_scale);
    const TableChoice<Groups> other = choose_codes(groups, batch, group_scale, scale);
    const auto is_better = sum_within<kWidth>(other.error) < sum_within<kWidth>(best.error);
    best.block_scale = is_better ? other.block_scale : best.block_scale;
    best.code = is_better ? other.code : best.code;
    best.error = is_better ? other.error : best.error;
    keep_better(is_better, other.rows, best.rows);
  }
  return best;
}

}  // namespace ingot::quant::INGOT_TARGET
