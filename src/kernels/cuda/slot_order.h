// SPDX-License-Identifier: Apache-2.0
// The order in which linear_warpgroups.cuh reads the columns of a run of 32 of its inputs. Tensor
// cores multiply slot by slot, sixteen at a time, of which lane t of four has slots 2t, 2t + 1,
// 2t + 8 and 2t + 9; of the weights it has eight neighbouring columns, or twice four for codes of 8
// bits (panel_rows.cuh), of each four the first and third together (half_scales.cuh).
#pragma once

#include <cstdint>

namespace ingot::cuda {

enum class SlotOrder : uint8_t { kPlain, kEights, kFours };

constexpr int64_t slot_of(SlotOrder order, int64_t column) {
  if (order == SlotOrder::kPlain) return column;
  const int64_t first = column / 32 * 32;
  const int64_t in_run = column % 32;
  const bool in_eights = order == SlotOrder::kEights;
  const int64_t lane = in_eights ? in_run / 8 : in_run % 16 / 4;
  const int64_t half = in_eights ? in_run % 8 / 4 : in_run / 16;
  return first + half * 16 + in_run % 2 * 8 + 2 * lane + in_run % 4 / 2;
}

}  // namespace ingot::cuda
