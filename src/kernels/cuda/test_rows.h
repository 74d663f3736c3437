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

// Every kind of rows.
struct RowKind {
  const char* name;
  Layout layout;  // kF8_E4M3 and kI8: codes with scales of their own
  Fp8Scales scales = Fp8Scales::kRows;
  InputQuant input{};
};
inline constexpr InputQuant kE4m3OfTokens{.kind = InputKind::kE4m3};
inline constexpr InputQuant kE4m3OfBlocks{.kind = InputKind::kE4m3, .block = 128};
inline constexpr RowKind kRowKinds[] = {
    {"f16", Layout::kF16},
    {"bf16", Layout::kBF16},
    {"fp8 by rows", Layout::kF8_E4M3, Fp8Scales::kRows, kE4m3OfTokens},
    {"fp8 by blocks", Layout::kF8_E4M3, Fp8Scales::kBlocks, kE4m3OfBlocks},
    {"fp8 by rows, inputs by blocks", Layout::kF8_E4M3, Fp8Scales::kRows, kE4m3OfBlocks},
    {"fp8 by blocks, inputs by tokens", Layout::kF8_E4M3, Fp8Scales::kBlocks, kE4m3OfTokens},
    {"fp8 by the tensor, given scale",
     Layout::kF8_E4M3,
     Fp8Scales::kTensor,
     {.kind = InputKind::kE4m3, .scale = 0.01F}},
    {"fp8 by rows, inputs in f16", Layout::kF8_E4M3, Fp8Scales::kRows},
    {"fp8 by blocks, in f16", Layout::kF8_E4M3, Fp8Scales::kBlocks},
    {"int8", Layout::kI8, Fp8Scales::kRows, {.kind = InputKind::kInt8}},
    {"int8 with zeros",
     Layout::kI8,
     Fp8Scales::kRows,
     {.kind = InputKind::kInt8, .is_symmetric = false}},
};
// A shape beside one of them, for tests that take one at a time.
struct RowsCase {
  int64_t rows;
  int64_t cols;
  RowKind kind;
};
inline std::vector<RowsCase> with_all_kinds(
    std::initializer_list<std::pair<int64_t, int64_t>> shapes) {
  std::vector<RowsCase> cases;
  for (const auto& [rows, cols] : shapes)
    for (const RowKind& kind : kRowKinds)
      cases.push_back({rows, cols, kind});
  return cases;
}
inline std::string name_of_case(const ::testing::TestParamInfo<RowsCase>& test) {
  const RowsCase& one = test.param;
  return std::to_string(one.rows) + "_by_" + std::to_string(one.cols) + "_" +
         test_name(one.kind.name);
}

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

  Kind make(const RowKind& kind, int64_t rows, int64_t cols) {
    if (kind.layout != Layout::kF8_E4M3 && kind.layout != Layout::kI8)
      return halves(kind, rows, cols);
    const auto weights = std::make_shared<Weights>(
        kind.layout == Layout::kI8
            ? int8_weights(random_, rows, cols, CodeOrder::kRowsSigned, kind.input)
            : fp8_weights(random_, rows, cols, kind.scales, kind.input));
    weights->tensor.codes = weights->codes;
    // Inputs that are not rounded to codes are to f16.
    const bool is_f16 = !kind.input.rounds();
    const auto expected_of = [=, this](const std::vector<float>& x, int64_t tokens) {
      return expected(*weights, is_f16 ? rounded(x, Layout::kF16) : x, tokens);
    };
    return {kind.name, place(*weights), expected_of, kind.input.kind == InputKind::kE4m3};
  }

  Kind halves(const RowKind& kind, int64_t rows, int64_t cols) {
    const Layout layout = kind.layout;
    const std::vector<std::byte> bytes = random_.weights(layout, rows * cols);
    const std::vector<float> bias = random_.normals(rows);
    const Shape shape{static_cast<uint64_t>(rows), static_cast<uint64_t>(cols)};
    const auto expected = [=, this](const std::vector<float>& x, int64_t tokens) {
      WeightMemory memory;
      const Linear linear =
          *Linear::bind({layout, shape, bytes}, bias, TargetSet::scalar_only(), memory, exec_);
      return on_cpu(linear, rounded(x, layout), tokens);
    };
    return {kind.name, *test_device()->place({layout, shape, bytes}, bias, {}, exec_), expected};
  }

  // Every kind of rows, [rows, cols].
  std::vector<Kind> kinds(int64_t rows, int64_t cols) {
    std::vector<Kind> result;
    for (const RowKind& kind : kRowKinds)
      result.push_back(make(kind, rows, cols));
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
