// SPDX-License-Identifier: Apache-2.0
// Weights as numbers again, on the device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/linear.h"
#include "kernels/cuda/stream.h"
#include "kernels/packing.h"

namespace ingot::cuda {

// Panels as rows of bf16, [rows, cols]: for products of many tokens.
void decode_panels(Packing packing, const std::byte* panels, int64_t rows, int64_t cols,
                   float scale, void* out, Stream stream);
// Rows of a table, named on the device: by number or, below 0, as sampled[-1 - number].
struct NamedRows {
  const int32_t* rows;
  const int32_t* sampled;
  int32_t count;
};
// out [count, cols] = factor * those rows.
void gather_panel_rows(Packing packing, const std::byte* panels, int64_t cols, float scale,
                       const NamedRows& rows, float factor, float* out, Stream stream);
void gather_element_rows(ElementType type, const std::byte* table, int64_t row_bytes, int64_t cols,
                         const NamedRows& rows, float factor, float* out, Stream stream);
// e4m3 rows with scales of spans of 128 columns as rows of bf16, [rows, cols].
void decode_e4m3(const std::byte* codes, int64_t row_bytes, const float* scales, int64_t spans,
                 int64_t rows, int64_t cols, void* out, Stream stream);

}  // namespace ingot::cuda
