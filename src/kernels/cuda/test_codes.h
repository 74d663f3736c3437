// SPDX-License-Identifier: Apache-2.0
// Random weights of FP8 and W8A8, for tests of the GPU, there and on the processor.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/cuda/test_linear.h"
#include "kernels/test_random.h"
#include "tensor/quant_tensor.h"

namespace ingot {

struct Weights {
  std::vector<std::byte> codes;
  QuantTensor tensor;
  std::vector<float> bias;
};

enum class Fp8Scales { kTensor, kRows, kBlocks };

inline Weights fp8_weights(Random& random, int64_t rows, int64_t cols, Fp8Scales scales,
                           const InputQuant& input) {
  Weights weights;
  QuantTensor& tensor = weights.tensor;
  const bool is_blocks = scales == Fp8Scales::kBlocks;
  tensor.scheme = {CodeMeaning::kE4m3, CodeOrder::kRows, 8, is_blocks ? 128 : cols};
  tensor.rows = rows;
  tensor.cols = cols;
  tensor.input = input;
  for (int64_t i = 0; i < rows * cols; ++i) {
    const auto code = static_cast<uint8_t>(random.whole(0, 255));
    weights.codes.push_back(static_cast<std::byte>((code & 0x7F) == 0x7F ? 1 : code));
  }
  tensor.codes = weights.codes;
  const int64_t together = is_blocks ? 128 : scales == Fp8Scales::kRows ? 1 : rows;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t group = 0; group < tensor.groups(); ++group) {
      const auto at = static_cast<size_t>((row - 1) * tensor.groups() + group);
      tensor.scales.push_back(row % together == 0 ? random.uniform(0.001F, 0.1F)
                                                  : tensor.scales[at]);
    }
  }
  // As large as the products, or the limits would not see it.
  weights.bias = random.normals(rows);
  for (float& bias : weights.bias)
    bias *= 100;
  return weights;
}

inline Weights int8_weights(Random& random, int64_t rows, int64_t cols, CodeOrder order,
                            const InputQuant& input) {
  Weights weights;
  QuantTensor& tensor = weights.tensor;
  tensor.scheme = {CodeMeaning::kAffine, order, 8, cols};
  tensor.rows = rows;
  tensor.cols = cols;
  tensor.input = input;
  for (int64_t i = 0; i < rows * cols; ++i)
    weights.codes.push_back(static_cast<std::byte>(random.whole(0, 255)));
  tensor.codes = weights.codes;
  tensor.zeros.assign(static_cast<size_t>(rows), 128);
  for (int64_t row = 0; row < rows; ++row)
    tensor.scales.push_back(random.uniform(0.01F, 0.1F));
  weights.bias = random.normals(rows);
  return weights;
}

inline std::vector<float> first_rows(const std::vector<float>& x, int64_t rows, int64_t cols) {
  return {x.begin(), x.begin() + rows * cols};
}

class CodesOnGpu : public LinearOnGpu {
 protected:
  std::shared_ptr<const DeviceWeight> place(const Weights& weights) {
    auto placed = test_device()->place(weights.tensor, weights.bias, {}, exec_);
    EXPECT_TRUE(placed.is_ok()) << placed.status().message();
    return placed.is_ok() ? *placed : nullptr;
  }

  std::vector<float> expected(const Weights& weights, const std::vector<float>& x, int64_t tokens) {
    WeightMemory memory;
    const Result<Linear> linear =
        Linear::bind(weights.tensor, weights.bias, TargetSet::scalar_only(), memory, exec_);
    EXPECT_TRUE(linear.is_ok()) << linear.status().message();
    return on_cpu(*linear, x, tokens);
  }
};

}  // namespace ingot
