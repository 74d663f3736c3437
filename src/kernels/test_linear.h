// SPDX-License-Identifier: Apache-2.0
// What the tests of linear layers multiply: random weights of any kind with inputs and a bias,
// decoded as well, and how far a product may be from the exact one.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "blocks/elements.h"
#include "kernels/linear.h"
#include "kernels/test_quant.h"
#include "kernels/test_random.h"

namespace ingot {
namespace {

constexpr float kEpsilon = std::numeric_limits<float>::epsilon();

// What a kernel multiplies: a layout of GGUF or safetensors, or a packing of weights whose scales
// lie apart.
struct Kind {
  Layout layout = Layout::kU8;
  Packing packing = Packing::kRows;
  bool is_quant() const { return is_quant_packing(packing); }
  int64_t unit() const {
    if (is_e4m3(packing)) return 1;
    if (packing == Packing::kF16Words) return kBlockColumns;
    return is_quant() ? 32 : static_cast<int64_t>(info(layout).block_elements);
  }
  std::string name() const {
    return is_quant() ? info(packing).name : std::string(info(layout).name);
  }
};

// A weight matrix with inputs and a bias, decoded as well.
struct Problem {
  Problem(Random& random, const Kind& kind, int64_t row_count, int64_t col_count,
          int64_t token_count)
      : layout(kind.layout),
        rows(row_count),
        cols(col_count),
        tokens(token_count),
        x(random.normals(token_count * col_count)),
        bias(random.normals(row_count)),
        decoded(static_cast<size_t>(row_count * col_count)) {
    if (kind.is_quant()) {
      quant = std::make_shared<RandomQuant>(random_quant(random, kind.packing, rows, cols));
      for (int64_t row = 0; row < rows; ++row)
        dequantize_row(
            quant->tensor, row,
            std::span(decoded).subspan(static_cast<size_t>(row * cols), static_cast<size_t>(cols)));
    } else {
      weights = random.weights(layout, rows * cols);
      dequantize(layout, weights, decoded);
    }
  }
  Problem(Random& random, Layout kind, int64_t row_count, int64_t col_count, int64_t token_count)
      : layout(kind),
        rows(row_count),
        cols(col_count),
        tokens(token_count),
        weights(random.weights(kind, row_count * col_count)),
        x(random.normals(token_count * col_count)),
        bias(random.normals(row_count)),
        decoded(static_cast<size_t>(row_count * col_count)) {
    dequantize(layout, weights, decoded);
  }

  TensorView view() const {
    return {layout, Shape{static_cast<uint64_t>(rows), static_cast<uint64_t>(cols)}, weights};
  }
  float weight(int64_t row, int64_t col) const {
    return decoded[static_cast<size_t>(row * cols + col)];
  }
  float input(int64_t token, int64_t col) const {
    return x[static_cast<size_t>(token * cols + col)];
  }

  Layout layout;
  int64_t rows;
  int64_t cols;
  int64_t tokens;
  std::vector<std::byte> weights;
  std::vector<float> x;
  std::vector<float> bias;
  std::vector<float> decoded;
  std::shared_ptr<const RandomQuant> quant;  // in place of `weights`, or null
};

// Any order of n products and sums in float stays within n * eps / 2 of their magnitudes' sum;
// twice that covers the higher orders. `quantum` adds what rounding the inputs to codes may change.
inline float bound(const Problem& problem, int64_t token, int64_t row,
                   ActivationLayout activation) {
  double magnitude = std::fabs(static_cast<double>(problem.bias[static_cast<size_t>(row)]));
  double quantized = 0;
  const bool is_plain =
      activation == ActivationLayout::kF32 || activation == ActivationLayout::kBF16;
  const bool is_words = activation == ActivationLayout::kI16G128;
  const int64_t group = is_plain ? problem.cols : activation_group(activation);
  for (int64_t first = 0; first < problem.cols; first += group) {
    float largest = 0;
    float heaviest = 0;
    double weights = 0;
    double inputs = 0;
    for (int64_t col = first; col < first + group; ++col) {
      const float x = std::fabs(problem.input(token, col));
      const float w = std::fabs(problem.weight(row, col));
      largest = std::max(largest, x);
      heaviest = std::max(heaviest, w);
      weights += static_cast<double>(w);
      inputs += static_cast<double>(x);
      magnitude += static_cast<double>(w) * static_cast<double>(x);
    }
    const double most = is_words ? kMostOfI16G128 : 127;
    if (!is_plain) quantized += weights * static_cast<double>(largest) / most * 0.5001;
    // Half of the last of 14 bits of the weights too.
    if (is_words) quantized += inputs * static_cast<double>(heaviest) * 0x1.01p-13;
  }
  // Affine layouts subtract sums that are up to some sixteen times as large as their difference.
  const double sums = is_plain ? 1 : 32;
  if (activation == ActivationLayout::kBF16) quantized = magnitude / 256;  // half a step in 8 bits
  const auto rounded =
      static_cast<double>(kEpsilon) * static_cast<double>(problem.cols + 8) * magnitude * sums;
  return static_cast<float>(rounded + quantized);
}

}  // namespace
}  // namespace ingot
