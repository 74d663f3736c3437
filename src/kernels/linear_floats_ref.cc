// SPDX-License-Identifier: Apache-2.0
// The references for float weights, in double: fast twins are compared within an error bound.
#include <cstring>
#include <vector>

#include "base/float_types.h"
#include "kernels/decode_rows.h"
#include "kernels/linear_ref.h"

namespace ingot::ref {
namespace {

void multiply(const LinearArgs& args, int64_t row, const std::vector<float>& weights) {
  const auto* x = reinterpret_cast<const float*>(args.x);
  for (int64_t token = 0; token < args.tokens; ++token) {
    double sum = 0;
    for (int64_t col = 0; col < args.cols; ++col)
      sum += static_cast<double>(weights[static_cast<size_t>(col)]) *
             static_cast<double>(x[token * args.cols + col]);
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

}  // namespace

void linear_rows(const LinearArgs& args, int64_t begin, int64_t end) {
  std::vector<float> weights(static_cast<size_t>(args.cols));
  for (int64_t row = begin; row < end; ++row) {
    decode_values(args.layout, args.weights + row * args.weight_stride, args.cols, weights.data());
    multiply(args, row, weights);
  }
}

void linear_floats(const LinearArgs& args, Packing packing, int64_t begin, int64_t end) {
  std::vector<float> weights(static_cast<size_t>(args.cols));
  for (int64_t row = begin; row < end; ++row) {
    const std::byte* panel = args.weights + row / kPanelRows * args.weight_stride;
    for (int64_t col = 0; col < args.cols; ++col) {
      const int64_t at = col * kPanelRows + row % kPanelRows;
      weights[static_cast<size_t>(col)] = packing == Packing::kF32 ? element_at<float>(panel, at)
                                          : packing == Packing::kF16
                                              ? element_at<Half>(panel, at)
                                              : element_at<BFloat16>(panel, at);
    }
    multiply(args, row, weights);
  }
}

}  // namespace ingot::ref
