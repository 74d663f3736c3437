// SPDX-License-Identifier: Apache-2.0
// The references for float weights, in double: fast twins are compared within an error bound.
#include <cstring>
#include <vector>

#include "base/float_types.h"
#include "kernels/decode_rows.h"
#include "kernels/linear_ref.h"

namespace ingot::ref {
namespace {

// The inputs of a token as floats, whichever way they are packed.
std::vector<float> inputs_of(const LinearArgs& args, int64_t token, Packing packing) {
  std::vector<float> x(static_cast<size_t>(args.cols));
  const int64_t width = (args.cols + 31) / 32 * 32;
  for (int64_t col = 0; col < args.cols; ++col) {
    x[static_cast<size_t>(col)] =
        info(packing).activation == ActivationLayout::kBF16
            ? to_float(reinterpret_cast<const BFloat16*>(args.x)[token * width + col])
            : reinterpret_cast<const float*>(args.x)[token * args.cols + col];
    if (args.x_scales != nullptr) {
      const int64_t spans = (args.cols + kSpanColumns - 1) / kSpanColumns;
      x[static_cast<size_t>(col)] *= args.x_scales[token * spans + col / kSpanColumns];
    }
  }
  return x;
}

void multiply(const LinearArgs& args, Packing packing, int64_t row,
              const std::vector<float>& weights) {
  for (int64_t token = 0; token < args.tokens; ++token) {
    const std::vector<float> x = inputs_of(args, token, packing);
    double sum = 0;
    for (size_t col = 0; col < weights.size(); ++col)
      sum += static_cast<double>(weights[col]) * static_cast<double>(x[col]);
    sum *= static_cast<double>(args.scale);
    if (args.bias != nullptr) sum += static_cast<double>(args.bias[row]);
    args.y[token * args.y_stride + row] = static_cast<float>(sum);
  }
}

template <class Element>
float element_at(const std::byte* panel, int64_t index) {
  Element value;
  std::memcpy(&value, panel + index * static_cast<int64_t>(sizeof(value)), sizeof(value));
  if constexpr (std::is_same_v<Element, float>) {
    return value;
  } else {
    return to_float(value);
  }
}

float weight_at(const std::byte* panel, Packing packing, int64_t row, int64_t col) {
  const int64_t at = col * kPanelRows + row;
  if (is_e4m3(packing)) {
    const int64_t span = col / kSpanColumns;
    const std::byte* scales = panel + span * (kSpanColumns + 4) * kPanelRows;
    const std::byte* codes = scales + 4 * kPanelRows;
    const int64_t c = col % kSpanColumns;
    const bool is_pairs = packing == Packing::kF8Pairs;
    const int64_t place =
        is_pairs ? c / 4 * kLineBytes + row / 4 * 16 + c % 4 / 2 * 8 + row % 4 * 2 + c % 2
                 : c * kPanelRows + row;
    const auto code = std::to_integer<uint8_t>(codes[place]);
    return to_float(Float8E4M3{code}) * (element_at<float>(scales, row) / (is_pairs ? 1 : 256));
  }
  if (packing == Packing::kF32) return element_at<float>(panel, at);
  if (packing == Packing::kF16) return element_at<Half>(panel, at);
  if (packing == Packing::kBF16) return element_at<BFloat16>(panel, at);
  return element_at<BFloat16>(panel, (col / 2 * kPanelRows + row) * 2 + col % 2);
}

}  // namespace

void linear_rows(const LinearArgs& args, int64_t begin, int64_t end) {
  std::vector<float> weights(static_cast<size_t>(args.cols));
  for (int64_t row = begin; row < end; ++row) {
    decode_values(args.layout, args.weights + row * args.weight_stride, args.cols, weights.data());
    multiply(args, Packing::kRows, row, weights);
  }
}

void linear_floats(const LinearArgs& args, Packing packing, int64_t begin, int64_t end) {
  std::vector<float> weights(static_cast<size_t>(args.cols));
  for (int64_t row = begin; row < end; ++row) {
    const std::byte* panel = args.weights + row / kPanelRows * args.weight_stride;
    for (int64_t col = 0; col < args.cols; ++col)
      weights[static_cast<size_t>(col)] = weight_at(panel, packing, row % kPanelRows, col);
    multiply(args, packing, row, weights);
  }
}

}  // namespace ingot::ref
