// SPDX-License-Identifier: Apache-2.0
#include "tensor/tensor_view.h"

#include <fmt/ranges.h>

namespace ingot {

CheckedSize Shape::elements() const {
  CheckedSize product(1);
  for (const uint64_t dim : dims())
    product = product * CheckedSize(dim);
  return product;
}

std::string Shape::to_string() const {
  return fmt::format("[{}]", fmt::join(dims(), ", "));
}

uint64_t TensorView::rows() const {
  uint64_t rows = 1;
  for (size_t i = 0; i + 1 < shape.rank(); ++i)
    rows *= shape[i];
  return rows;
}

uint64_t TensorView::row_bytes() const {
  const auto size = storage_bytes(layout, CheckedSize(cols())).value();
  INGOT_CHECK(size.has_value());
  return *size;
}

TensorView TensorView::row_range(uint64_t begin, uint64_t end) const {
  INGOT_CHECK(begin <= end && end <= rows());
  const uint64_t stride = row_bytes();
  return {layout, Shape{end - begin, cols()},
          bytes.subspan(begin * stride, (end - begin) * stride)};
}

}  // namespace ingot
