// SPDX-License-Identifier: Apache-2.0
// Weights of every kind of rows, for tests of the GPU's kernels for few and for more tokens.
#pragma once

#include <string>
#include <utility>

#include "kernels/cuda/test_codes.h"
#include "kernels/test_random.h"

namespace ingot {

using Placed = std::shared_ptr<const DeviceWeight>;

class RowsOnGpu : public CodesOnGpu {
 protected:
  // Weights of every kind of rows, [rows, cols]: what is placed, and what it gives for x.
  struct Case {
    std::string name;
    Placed placed;
    std::vector<float> wanted;
    bool has_e4m3_inputs = false;
  };

  Case halves(Layout layout, int64_t rows, const std::vector<float>& x, int64_t tokens) {
    const int64_t cols = std::ssize(x) / tokens;
    const std::vector<std::byte> bytes = random_.weights(layout, rows * cols);
    const std::vector<float> bias = random_.normals(rows);
    const TensorView view{layout, Shape{static_cast<uint64_t>(rows), static_cast<uint64_t>(cols)},
                          bytes};
    // Inputs are rounded to the weights' width first.
    std::vector<float> rounded = x;
    for (float& value : rounded) {
      value = layout == Layout::kF16 ? to_float(to_half(value)) : to_float(to_bfloat16(value));
    }
    WeightMemory memory;
    const Linear linear = *Linear::bind(view, bias, TargetSet::scalar_only(), memory, exec_);
    return {std::string(info(layout).name), *test_device()->place(view, bias, {}, exec_),
            on_cpu(linear, rounded, tokens)};
  }

  std::vector<Case> cases(int64_t rows, const std::vector<float>& x, int64_t tokens) {
    const int64_t cols = std::ssize(x) / tokens;
    std::vector<Case> result{halves(Layout::kF16, rows, x, tokens),
                             halves(Layout::kBF16, rows, x, tokens)};
    const auto add = [&](const char* name, const Weights& weights) {
      result.push_back({name, place(weights), expected(weights, x, tokens),
                        weights.tensor.input.kind == InputKind::kE4m3});
    };
    using enum Fp8Scales;
    const InputQuant of_tokens{.kind = InputKind::kE4m3};
    const InputQuant of_blocks{.kind = InputKind::kE4m3, .block = 128};
    add("fp8 by rows", fp8_weights(random_, rows, cols, kRows, of_tokens));
    add("fp8 by blocks", fp8_weights(random_, rows, cols, kBlocks, of_blocks));
    add("fp8 by rows, inputs by blocks", fp8_weights(random_, rows, cols, kRows, of_blocks));
    add("fp8 by blocks, inputs by tokens", fp8_weights(random_, rows, cols, kBlocks, of_tokens));
    add("fp8 by the tensor, given scale",
        fp8_weights(random_, rows, cols, kTensor, {.kind = InputKind::kE4m3, .scale = 0.01F}));
    // Inputs as they are become f16.
    std::vector<float> rounded = x;
    for (float& value : rounded)
      value = to_float(to_half(value));
    for (const Fp8Scales scales : {kRows, kBlocks}) {
      const Weights weights = fp8_weights(random_, rows, cols, scales, {});
      result.push_back({scales == kRows ? "fp8 by rows, inputs in f16" : "fp8 by blocks, in f16",
                        place(weights), expected(weights, rounded, tokens)});
    }
    add("int8",
        int8_weights(random_, rows, cols, CodeOrder::kRowsSigned, {.kind = InputKind::kInt8}));
    add("int8 with zeros", int8_weights(random_, rows, cols, CodeOrder::kRowsSigned,
                                        {.kind = InputKind::kInt8, .is_symmetric = false}));
    return result;
  }

  Random random_{test_seed()};
};

}  // namespace ingot
