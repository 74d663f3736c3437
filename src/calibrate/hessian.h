// SPDX-License-Identifier: Apache-2.0
// The mean of x x^T over the inputs of a linear layer: by it the error of a changed weight row e is
// e H e^T, which is all that GPTQ and AWQ need to know of the samples.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "kernels/exec.h"
#include "kernels/target.h"

namespace ingot {

// Single thread.
class Hessian {
 public:
  explicit Hessian(int64_t cols) : cols_(cols), sum_(static_cast<size_t>(cols * cols)) {}
  int64_t cols() const { return cols_; }
  int64_t rows() const { return rows_; }
  // x [rows, cols]
  Status add(std::span<const float> x, const Exec& exec, TargetSet targets);
  // The whole symmetric matrix, [cols, cols]; nothing may be added afterwards.
  std::vector<float> take();

 private:
  int64_t cols_;
  int64_t rows_ = 0;
  std::vector<float> sum_;         // only columns up to the end of a row's own block are filled
  std::vector<float> transposed_;  // [cols, rows of one add]
  std::vector<float> product_;
};

}  // namespace ingot
