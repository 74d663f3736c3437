// SPDX-License-Identifier: Apache-2.0
// Whether a model's weights are packed where panels are much larger than the file's rows (IQ1 to
// IQ3 and the like): only if the panels of all weights leave a tenth of the free memory. Otherwise
// these weights stay rows of the file, slower but mapped: the system can drop and read them again.
#pragma once

#include <cstdint>

#include "formats/checkpoint.h"
#include "kernels/target.h"

namespace ingot {

struct PanelBudget {
  uint64_t panel_bytes = 0;  // of all weights, packed
  uint64_t row_bytes = 0;    // the same where those that outgrow the file stay its rows
  uint64_t free_bytes = 0;   // 0: not known

  bool keeps_rows() const {
    return free_bytes > 0 && row_bytes < panel_bytes && panel_bytes > free_bytes / 10 * 9;
  }
};

// Of every tensor in the file, embedding tables too.
PanelBudget panel_budget(const Checkpoint& checkpoint, TargetSet targets, uint64_t free_bytes);

}  // namespace ingot
