// SPDX-License-Identifier: Apache-2.0
// Weights on affine grids: weight = scale * (code - zero), a scale and a zero per group of a row's
// columns. How a grid is fitted to a group, and what GPTQ, AWQ and compressed-tensors store of it
// (quant/pack_*.cc). Scales are already rounded to the type they are stored in: what is measured
// here is what a reader gets.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "blocks/layout_id.h"
#include "kernels/exec.h"

namespace ingot {

struct AffineOptions {
  int bits = 4;                 // 2..8
  int64_t group_columns = 128;  // 0: a row is one group
  bool is_symmetric = true;     // the zero is the middle code
  Layout scale_layout = Layout::kF16;
  uint8_t least_zero = 0;  // GPTQ's first format stores zeros less one: 1 is the least it can
  bool searches = true;    // for the range that loses least; false: from the least to the largest
};

struct AffineGrid {
  float scale = 1;
  uint8_t zero = 0;
};

inline uint8_t affine_code(float value, const AffineGrid& grid, int bits) {
  const float code = std::nearbyint(value / grid.scale) + static_cast<float>(grid.zero);
  return static_cast<uint8_t>(std::clamp(code, 0.0F, static_cast<float>((1 << bits) - 1)));
}
inline float affine_value(uint8_t code, const AffineGrid& grid) {
  return grid.scale * static_cast<float>(static_cast<int>(code) - static_cast<int>(grid.zero));
}

// The grid of one group. `weights` says how much each column's squared error counts; empty: alike.
AffineGrid fit_affine(std::span<const float> values, std::span<const float> weights,
                      const AffineOptions& options);
// Rounded to F16, BF16 or F32, never to zero.
float round_scale(float scale, Layout layout);

// A whole matrix. Columns may be in another order than the weight's: see order.
struct AffineCodes {
  int64_t rows = 0;
  int64_t cols = 0;
  int bits = 4;
  int64_t group_columns = 128;  // never 0
  bool is_symmetric = true;
  std::vector<uint8_t> codes;  // [rows][cols], columns as in the weight
  std::vector<float> scales;   // [rows][groups]
  std::vector<uint8_t> zeros;  // [rows][groups]
  // Columns were taken in this order (act-order): groups are runs of it. Empty: their own order.
  std::vector<int32_t> order;

  int64_t groups() const { return (cols + group_columns - 1) / group_columns; }
  // The group of each column of the weight.
  std::vector<int32_t> group_of_columns() const;
  // What a reader will multiply with, [rows][cols].
  std::vector<float> values() const;
};
// No codes yet, of the right sizes.
AffineCodes make_affine(int64_t rows, int64_t cols, const AffineOptions& options);

// Round to nearest, each group by itself. `weights` as above, one per column, or empty.
AffineCodes quantize_affine(std::span<const float> values, int64_t rows, int64_t cols,
                            std::span<const float> weights, const AffineOptions& options,
                            const Exec& exec);

}  // namespace ingot
