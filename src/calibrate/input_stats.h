// SPDX-License-Identifier: Apache-2.0
// What is known of each column of a linear layer's input: how large it is on the calibration
// samples. Mean squares are the importance of a column in an importance matrix.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace ingot {

class InputStats {
 public:
  InputStats() = default;
  explicit InputStats(int64_t cols)
      : squares_(static_cast<size_t>(cols)),
        magnitudes_(static_cast<size_t>(cols)),
        largest_(static_cast<size_t>(cols)) {}
  // x [rows, cols]
  void add(std::span<const float> x) {
    const size_t cols = squares_.size();
    for (size_t at = 0; at < x.size(); at += cols) {
      for (size_t c = 0; c < cols; ++c) {
        const float value = std::fabs(x[at + c]);
        squares_[c] += static_cast<double>(value) * static_cast<double>(value);
        magnitudes_[c] += static_cast<double>(value);
        largest_[c] = std::max(largest_[c], value);
      }
    }
    rows_ += static_cast<int64_t>(x.size() / cols);
  }
  int64_t rows() const { return rows_; }
  int64_t cols() const { return static_cast<int64_t>(squares_.size()); }
  std::vector<float> mean_squares() const { return means(squares_); }
  std::vector<float> mean_magnitudes() const { return means(magnitudes_); }
  const std::vector<float>& largest() const { return largest_; }

 private:
  std::vector<float> means(const std::vector<double>& sums) const {
    std::vector<float> result;
    result.reserve(sums.size());
    const double scale = rows_ > 0 ? 1.0 / static_cast<double>(rows_) : 0;
    for (const double sum : sums)
      result.push_back(static_cast<float>(sum * scale));
    return result;
  }
  int64_t rows_ = 0;
  std::vector<double> squares_;
  std::vector<double> magnitudes_;
  std::vector<float> largest_;
};

}  // namespace ingot
