// SPDX-License-Identifier: Apache-2.0
// Sums of codes made outputs: y = sum * scale of the row * scale of the token (- shift of the token
// * sum of the row) + bias. In place: what the library left in y, whole numbers or floats.
#pragma once

#include <cstdint>

#include "kernels/cuda/stream.h"

namespace ingot::cuda {

struct SumRows {
  float* y;  // [tokens, stride]
  int64_t stride;
  const float* row_scales;    // [rows]
  const float* token_scales;  // [tokens]
  const float* shifts;        // [tokens] or null
  const float* row_sums;      // [rows], with shifts
  const float* bias;          // [rows] or null
  int32_t rows;
  int32_t tokens;
};
void finish_whole_sums(const SumRows& args, Stream stream);  // int32 in y's place
void finish_float_sums(const SumRows& args, Stream stream);

}  // namespace ingot::cuda
