// SPDX-License-Identifier: Apache-2.0
// A tensor somebody else owns: layout, shape (outermost dimension first, rows contiguous), bytes.
// Packed layouts run along the last dimension, so a range of rows is always a contiguous view.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"
#include "blocks/layout.h"

namespace ingot {

class Shape {
 public:
  static constexpr size_t kMaxDims = 8;
  Shape() = default;
  Shape(std::initializer_list<uint64_t> dims) {
    for (const uint64_t dim : dims)
      push_back(dim);
  }
  void push_back(uint64_t dim) {
    INGOT_CHECK(rank_ < kMaxDims);
    dims_[rank_++] = dim;
  }
  size_t rank() const { return rank_; }
  uint64_t operator[](size_t i) const { return dims_[i]; }
  uint64_t back() const { return rank_ == 0 ? 1 : dims_[rank_ - 1]; }
  CheckedSize elements() const;
  std::span<const uint64_t> dims() const { return {dims_.data(), rank_}; }
  std::string to_string() const;  // "[4096, 1024]"
  friend bool operator==(const Shape& a, const Shape& b) = default;

 private:
  std::array<uint64_t, kMaxDims> dims_{};
  size_t rank_ = 0;
};

// Plain data; the bytes must outlive the view.
struct TensorView {
  Layout layout = Layout::kF32;
  Shape shape;
  std::span<const std::byte> bytes;

  // All leading dimensions folded together: a matrix [rows, cols] as kernels see it.
  uint64_t rows() const;
  uint64_t cols() const { return shape.back(); }
  uint64_t row_bytes() const;
  // Rows [begin, end) of the folded matrix, as a [end - begin, cols] view.
  TensorView row_range(uint64_t begin, uint64_t end) const;
};

}  // namespace ingot
