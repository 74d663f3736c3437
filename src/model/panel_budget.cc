// SPDX-License-Identifier: Apache-2.0
#include "model/panel_budget.h"

#include "kernels/panel.h"

namespace ingot {

PanelBudget panel_budget(const Checkpoint& checkpoint, TargetSet targets, uint64_t free_bytes) {
  PanelBudget budget{.free_bytes = free_bytes};
  for (const TensorEntry* entry : checkpoint.tensors()) {
    const TensorView& tensor = entry->tensor;
    const uint64_t file = tensor.bytes.size();
    const auto cols = static_cast<int64_t>(tensor.cols());
    const bool is_matrix = file > 0 && tensor.shape.rank() > 1;
    const Packing packing = is_matrix ? packing_of(tensor.layout, cols, targets) : Packing::kRows;
    uint64_t panels = file;
    if (packing != Packing::kRows) {
      panels = (tensor.rows() + kPanelRows - 1) / kPanelRows *
               static_cast<uint64_t>(panel_shape(packing, cols).panel);
    }
    budget.panel_bytes += panels;
    budget.row_bytes += outgrows_file(tensor.layout) ? file : panels;
  }
  return budget;
}

}  // namespace ingot
