// SPDX-License-Identifier: Apache-2.0
// Weights of every kind of rows, for tests of the GPU's kernels for few and for more tokens.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "kernels/cuda/test_codes.h"
#include "kernels/test_random.h"

namespace ingot {

using Placed = std::shared_ptr<const DeviceWeight>;

class RowsOnGpu : public CodesOnGpu {
 protected:
  // A weight as it is placed, and what it gives.
  struct Kind {
    std::string name;
    Placed placed;
    std::function<std::vector<float>(const std::vector<float>& x, int64_t tokens)> expected;
    bool has_e4m3_inputs = false;
  };
  // And for some x.
  struct Case {
    std::string name;
    Placed placed;
    std::vector<float> wanted;
    bool has_e4m3_inputs = false;
  };

  // Inputs are rounded to 16 bits first.
  static std::vector<float> rounded(std::vector<float> x, Layout layout) {
    for (float& value : x)
      value = layout == Layout::kF16 ? to_float(to_half(value)) : to_float(to_bfloat16(value));
    return x;
  }

  Kind halves(Layout layout, int64_t rows, int64_t cols) {
    const std::vector<std::byte> bytes = random_.weights(layout, rows * cols);
    const std::vector<float> bias = random_.normals(rows);
    const Shape shape{static_cast<uint64_t>(rows), static_cast<uint64_t>(cols)};
    const auto expected = [=, this](const std::vector<float>& x, int64_t tokens) {
      WeightMemory memory;
      const Linear linear =
          *Linear::bind({layout, shape, bytes}, bias, TargetSet::scalar_only(), memory, exec_);
      return on_cpu(linear, rounded(x, layout), tokens);
    };
    return {std::string(info(layout).name),
            *test_device()->place({layout, shape, bytes}, bias, {}, exec_), expected};
  }

  // Every kind of rows, [rows, cols].
  std::vector<Kind> kinds(int64_t rows, int64_t cols) {
    std::vector<Kind> result{halves(Layout::kF16, rows, cols), halves(Layout::kBF16, rows, cols)};
    const auto add = [&](const char* name, Weights made, bool becomes_f16 = false) {
      const auto weights = std::make_shared<Weights>(std::move(made));
      weights->tensor.codes = weights->codes;
      const auto expected_of = [=, this](const std::vector<float>& x, int64_t tokens) {
        return expected(*weights, becomes_f16 ? rounded(x, Layout::kF16) : x, tokens);
      };
      result.push_back(
          {name, place(*weights), expected_of, weights->tensor.input.kind == InputKind::kE4m3});
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
    add("fp8 by rows, inputs in f16", fp8_weights(random_, rows, cols, kRows, {}), true);
    add("fp8 by blocks, in f16", fp8_weights(random_, rows, cols, kBlocks, {}), true);
    add("int8",
        int8_weights(random_, rows, cols, CodeOrder::kRowsSigned, {.kind = InputKind::kInt8}));
    add("int8 with zeros", int8_weights(random_, rows, cols, CodeOrder::kRowsSigned,
                                        {.kind = InputKind::kInt8, .is_symmetric = false}));
    return result;
  }

  std::vector<Case> cases(int64_t rows, const std::vector<float>& x, int64_t tokens) {
    std::vector<Case> result;
    for (const Kind& kind : kinds(rows, std::ssize(x) / tokens))
      result.push_back({kind.name, kind.placed, kind.expected(x, tokens), kind.has_e4m3_inputs});
    return result;
  }

  Random random_{test_seed()};
};

}  // namespace ingot
