// SPDX-License-Identifier: Apache-2.0
// Rows of a float weight rounded to F16 or BF16 on their way into panels, or of a quantized one
// decoded to floats, a panel's worth at a time: the matrix is never in memory in a third form.
// Single thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "blocks/layout_id.h"
#include "kernels/activations.h"
#include "kernels/panel.h"
#include "kernels/target.h"

namespace ingot {

class CastRows {
 public:
  CastRows(const PanelSource& source, Layout layout, TargetSet targets);
  // Rows [begin, end) of the source; they lie here until the next call.
  PanelSource rows(int64_t begin, int64_t end);
  // Whether all of the last rows stayed finite.
  bool is_finite() const { return is_finite_; }

 private:
  const PanelSource& source_;
  Layout layout_;
  const PackKernel* rounding_;  // of a row to bf16
  int64_t row_bytes_;
  bool is_finite_ = true;
  std::vector<float> floats_;  // of a row
  std::vector<std::byte> bytes_;
};

}  // namespace ingot
