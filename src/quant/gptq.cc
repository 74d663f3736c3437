// SPDX-License-Identifier: Apache-2.0
#include "quant/gptq.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/matmul.h"
#include "quant/matrix_index.h"

namespace ingot {
namespace {

constexpr int64_t kLeastBlock = 128;
constexpr int64_t kRunGrain = 8;

// One matrix on its way. Columns are in the feedback's order throughout.
class Run {
 public:
  Run(std::span<const float> weights, int64_t rows, const Feedback& feedback,
      const AffineOptions& options, const Exec& exec, TargetSet targets)
      : feedback_(feedback),
        options_(options),
        exec_(exec),
        targets_(targets),
        result_(make_affine(rows, feedback.cols, options)),
        rows_(rows),
        cols_(feedback.cols) {
    result_.order = feedback.order;
    errors_.resize(weights.size());
    weights_.resize(weights.size());
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t k = 0; k < cols_; ++k)
        weights_[index(row * cols_ + k)] = weights[index(row * cols_ + column(k))];
    }
  }

  Result<AffineCodes> run() {
    // A group's grid is fitted with what all columns before the block have lost: so a block is a
    // group, or a few small ones.
    const int64_t group = result_.group_columns;
    const int64_t block =
        group >= cols_ || group % kLeastBlock == 0 ? kLeastBlock : std::max<int64_t>(group, 32);
    for (int64_t first = 0; first < cols_; first += block) {
      const int64_t width = std::min(block, cols_ - first);
      fed_.resize(index(rows_ * width));
      INGOT_TRY(feed_errors(feedback_, errors_, first, width, fed_, exec_, targets_));
      exec_.for_ranges(rows_, kRunGrain, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row)
          run_block(row, first, width);
      });
    }
    return std::move(result_);
  }

 private:
  int64_t column(int64_t k) const {
    return feedback_.order.empty() ? k : feedback_.order[index(k)];
  }

  void fit_group(int64_t row, int64_t first, int64_t width, std::span<const float> fed) {
    const int64_t group = result_.group_columns;
    const int64_t groups = result_.groups();
    std::vector<float> values;
    for (int64_t at = first; at < first + width; at += std::min(group, width)) {
      if (at % group != 0) continue;
      const int64_t size = std::min(group, cols_ - at);
      values.assign(weights_.begin() + row * cols_ + at,
                    weights_.begin() + row * cols_ + at + size);
      for (int64_t i = 0; i < size && at + i < first + width; ++i)
        values[index(i)] += fed[index(at - first + i)];
      const AffineGrid grid =
          fit_affine(values, std::span(feedback_.d).subspan(index(at), index(size)), options_);
      result_.scales[index(row * groups + at / group)] = grid.scale;
      result_.zeros[index(row * groups + at / group)] = grid.zero;
    }
  }

  void run_block(int64_t row, int64_t first, int64_t width) {
    const std::span<float> fed = std::span(fed_).subspan(index(row * width), index(width));
    fit_group(row, first, width, fed);
    const int64_t group = result_.group_columns;
    const int64_t groups = result_.groups();
    for (int64_t i = 0; i < width; ++i) {
      const int64_t k = first + i;
      const size_t in = index(row * groups + k / group);
      const AffineGrid grid{result_.scales[in], result_.zeros[in]};
      const float weight = weights_[index(row * cols_ + k)];
      const uint8_t code = affine_code(weight + fed[index(i)], grid, result_.bits);
      result_.codes[index(row * cols_ + column(k))] = code;
      const float error = weight - affine_value(code, grid);
      errors_[index(row * cols_ + k)] = error;
      const float* r = feedback_.r.data() + k * cols_ + first;
      for (int64_t j = i + 1; j < width; ++j)
        fed[index(j)] += error * r[j];
    }
  }

  const Feedback& feedback_;
  const AffineOptions& options_;
  const Exec& exec_;
  TargetSet targets_;
  AffineCodes result_;
  int64_t rows_;
  int64_t cols_;
  std::vector<float> weights_;
  std::vector<float> errors_;  // w - q
  std::vector<float> fed_;     // [rows][width]: what columns before the block hand to its own
};

}  // namespace

Result<AffineCodes> quantize_gptq(std::span<const float> weights, int64_t rows,
                                  const Feedback& feedback, const AffineOptions& options,
                                  const Exec& exec, TargetSet targets) {
  INGOT_CHECK(std::ssize(weights) == rows * feedback.cols);
  return Run(weights, rows, feedback, options, exec, targets).run();
}

Result<double> output_loss(std::span<const float> weights, std::span<const float> quantized,
                           int64_t rows, std::span<const float> hessian, int64_t cols,
                           const Exec& exec, TargetSet targets) {
  std::vector<float> errors(weights.size());
  for (size_t i = 0; i < errors.size(); ++i)
    errors[i] = weights[i] - quantized[i];
  std::vector<float> product(errors.size());
  INGOT_TRY(multiply_by_transposed(
      exec, targets, {errors.data(), hessian.data(), product.data(), rows, cols, cols, cols}));
  double loss = 0;
  for (size_t i = 0; i < errors.size(); ++i)
    loss += static_cast<double>(errors[i]) * static_cast<double>(product[i]);
  return loss / static_cast<double>(rows);
}

}  // namespace ingot
