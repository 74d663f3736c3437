// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear.h"

#include <cstdint>

namespace ingot {
namespace {

// Two threads never write one cache line of y when it has a single token.
constexpr int64_t kRowGrain = 16;
// The strictest alignment of any block struct; files align far coarser.
constexpr uintptr_t kBlockAlignment = 4;

}  // namespace

Result<Linear> Linear::bind(const TensorView& weights, std::span<const float> bias,
                            TargetSet targets) {
  const uint64_t rows = weights.rows();
  const uint64_t cols = weights.cols();
  const LayoutInfo& layout = info(weights.layout);
  const CheckedSize row_bytes = storage_bytes(weights.layout, CheckedSize(cols));
  const CheckedSize size = row_bytes * CheckedSize(rows);
  if (rows == 0 || cols == 0 || !size.is_valid() || size.value_or(0) != weights.bytes.size()) {
    return Status::invalid_data("a {} weight of shape {} has {} bytes", layout.name,
                                weights.shape.to_string(), weights.bytes.size());
  }
  if (!bias.empty() && bias.size() != rows) {
    return Status::invalid_data("a bias of {} values for a weight of shape {}", bias.size(),
                                weights.shape.to_string());
  }
  if (layout.is_quantized &&
      reinterpret_cast<uintptr_t>(weights.bytes.data()) % kBlockAlignment != 0) {
    return Status::invalid_data(
        "a {} weight begins at an odd address; {} bytes of alignment needed", layout.name,
        kBlockAlignment);
  }
  Linear linear;
  linear.kernel_ = choose_linear(weights.layout, static_cast<int64_t>(cols), targets);
  if (linear.kernel_ == nullptr)
    return Status::unsupported("{} is no layout for weights of a linear layer", layout.name);
  linear.weights_ = weights;
  linear.bias_ = bias;
  linear.rows_ = static_cast<int64_t>(rows);
  linear.cols_ = static_cast<int64_t>(cols);
  return linear;
}

void Linear::run(const Exec& exec, Activations& x, float* y, int64_t y_stride) const {
  INGOT_CHECK(is_bound() && x.cols() == cols_ && y_stride >= rows_);
  const LinearArgs args{
      .layout = weights_.layout,
      .weights = weights_.bytes.data(),
      .weight_row_bytes = static_cast<int64_t>(weights_.row_bytes()),
      .cols = cols_,
      .x = x.rows(kernel_->activation, exec),
      .tokens = x.tokens(),
      .y = y,
      .y_stride = y_stride,
      .bias = bias_.empty() ? nullptr : bias_.data(),
  };
  exec.for_ranges(rows_, kRowGrain,
                  [&](int64_t begin, int64_t end) { kernel_->run(args, begin, end); });
}

}  // namespace ingot
