// SPDX-License-Identifier: Apache-2.0
#include "calibrate/hessian.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/matmul.h"

namespace ingot {
namespace {

constexpr int64_t kBlock = 512;  // columns of H that are made at once
constexpr int64_t kTile = 32;    // of the transposition

void transpose(std::span<const float> x, int64_t rows, int64_t cols, float* out, const Exec& exec) {
  exec.for_ranges(cols, kTile, [&](int64_t begin, int64_t end) {
    for (int64_t r0 = 0; r0 < rows; r0 += kTile) {
      for (int64_t c = begin; c < end; ++c) {
        for (int64_t r = r0; r < std::min(rows, r0 + kTile); ++r)
          out[c * rows + r] = x[static_cast<size_t>(r * cols + c)];
      }
    }
  });
}

}  // namespace

Status Hessian::add(std::span<const float> x, const Exec& exec, TargetSet targets) {
  const int64_t rows = std::ssize(x) / cols_;
  INGOT_CHECK(rows * cols_ == std::ssize(x));
  transposed_.resize(x.size());
  transpose(x, rows, cols_, transposed_.data(), exec);
  // Row r of H needs its columns up to r: those of a block times all rows from the block on.
  for (int64_t block = 0; block < cols_; block += kBlock) {
    const int64_t width = std::min(kBlock, cols_ - block);
    const int64_t below = cols_ - block;
    product_.resize(static_cast<size_t>(below * width));
    const float* from = transposed_.data() + block * rows;
    INGOT_TRY(multiply_by_transposed(exec, targets,
                                     {.a = from,
                                      .b = from,
                                      .c = product_.data(),
                                      .m = below,
                                      .n = width,
                                      .k = rows,
                                      .c_stride = width}));
    exec.for_ranges(below, 64, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        float* to = sum_.data() + (block + r) * cols_ + block;
        const float* add = product_.data() + r * width;
        for (int64_t c = 0; c < width; ++c)
          to[c] += add[c];
      }
    });
  }
  rows_ += rows;
  return Status::ok();
}

std::vector<float> Hessian::take() {
  const float scale = rows_ > 0 ? 1.0F / static_cast<float>(rows_) : 0.0F;
  for (int64_t r = 0; r < cols_; ++r) {
    for (int64_t c = 0; c <= r; ++c) {
      const float mean = sum_[static_cast<size_t>(r * cols_ + c)] * scale;
      sum_[static_cast<size_t>(r * cols_ + c)] = mean;
      sum_[static_cast<size_t>(c * cols_ + r)] = mean;
    }
  }
  return std::move(sum_);
}

}  // namespace ingot
