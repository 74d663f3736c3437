// SPDX-License-Identifier: Apache-2.0
// Weights as files have them to panels (kernels/panel.h), on the device, when a model is loaded. It
// is the processor's own code (kernels/panel_units.h, kernels/panel_quant.h) built for one more
// target. Gaps and rows past the last are not written: the panels are zeros before.
#pragma once

#include <cstddef>
#include <cstdint>

#include "blocks/layout_id.h"
#include "kernels/cuda/stream.h"
#include "kernels/packing.h"
#include "tensor/quant_codes.h"

namespace ingot::cuda {

// Whole rows of blocks; the first begins at a multiple of 16 bytes.
struct RowsToPack {
  Layout layout;
  Packing packing;
  const std::byte* weights;
  int64_t row_bytes;
  int64_t rows;
  int64_t cols;
};
void pack_rows(const RowsToPack& rows, std::byte* panels, Stream stream);

// The first `rows` of the matrix; the pointers of `codes` are the device's.
void pack_quant(Packing packing, const QuantCodes& codes, int64_t rows, std::byte* panels,
                Stream stream);

}  // namespace ingot::cuda
