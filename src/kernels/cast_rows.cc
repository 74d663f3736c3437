// SPDX-License-Identifier: Apache-2.0
#include "kernels/cast_rows.h"

#include <span>

#include "blocks/elements.h"
#include "kernels/decode_rows.h"
#include "tensor/quant_tensor.h"

namespace ingot {

CastRows::CastRows(const PanelSource& source, Layout layout, TargetSet targets)
    : source_(source),
      layout_(layout),
      rounding_(choose_pack(ActivationLayout::kBF16, targets)),
      row_bytes_(layout == Layout::kBF16 ? static_cast<int64_t>(activation_row_bytes(
                                               ActivationLayout::kBF16, source.cols))
                                         : decode_bytes(layout, source.cols)) {}

PanelSource CastRows::rows(int64_t begin, int64_t end) {
  const int64_t count = end - begin;
  const int64_t cols = source_.cols;
  floats_.resize(static_cast<size_t>(cols));
  bytes_.resize(static_cast<size_t>(count * row_bytes_));
  for (int64_t row = 0; row < count; ++row) {
    if (source_.quant != nullptr) {
      dequantize_row(*source_.quant, begin + row, floats_);
    } else {
      decode_values(source_.layout, source_.weights + (begin + row) * source_.row_bytes, cols,
                    floats_.data());
    }
    const auto out = std::span(bytes_).subspan(static_cast<size_t>(row * row_bytes_),
                                               static_cast<size_t>(row_bytes_));
    if (layout_ == Layout::kBF16) {  // the inputs' way is the fast one
      rounding_->run({floats_.data(), cols, out.data()}, 0, 1);
    } else {
      encode_elements(layout_, floats_, out);
    }
  }
  is_finite_ = elements_are_finite(layout_, bytes_);
  return {layout_, bytes_.data(), row_bytes_, count, cols};
}

}  // namespace ingot
