// SPDX-License-Identifier: Apache-2.0
// Inputs rounded as a checkpoint says (W8A8, FP8), on their way into the layouts that kernels read.
// Where a layout holds the codes themselves (int8 in kQ8G32, e4m3 in kBF16) nothing else is
// rounded: products are exact. Any other layout is packed from the rounded floats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/activation_layout.h"
#include "kernels/target.h"
#include "tensor/input_quant.h"

namespace ingot {

// Columns of kBF16 that one of its scales covers.
inline constexpr int64_t kScaleColumns = 128;

// Rounds tokens [begin, end) of x [tokens, cols] into rows of `layout`:
//   kF32    the rounded values
//   kQ8G32  int8 codes with one scale for all groups; scales[token] is scale * zero
//   kBF16   e4m3 codes as values; scales [tokens][cols / 128, rounded up] multiply them
// A token, or block of it, with a NaN or an infinity gets a scale of NaN.
struct RoundArgs {
  const float* x;
  int64_t cols;
  const InputQuant* quant;
  std::byte* out;
  float* scales;
};
struct RoundKernel {
  const char* name;
  ActivationLayout layout;
  InputKind kind;
  Target target;
  void (*run)(const RoundArgs& args, int64_t begin, int64_t end);
};
std::span<const RoundKernel> round_kernels();
// Null where a layout cannot hold the codes, or not with these blocks.
const RoundKernel* choose_round(ActivationLayout layout, const InputQuant& quant,
                                TargetSet targets);

}  // namespace ingot
