// SPDX-License-Identifier: Apache-2.0
#include "quant/feedback.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "kernels/matmul.h"
#include "quant/matrix_index.h"

namespace ingot {
namespace {

constexpr int64_t kBlock = 256;
constexpr int kTries = 6;  // each with ten times the damping

// The Cholesky factor of a small block, in place, and its inverse; both lower. False where it is
// not positive.
bool factor_block(std::vector<double>& a, std::vector<float>& inverse, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = j; i < n; ++i) {
      double sum = a[index(i * n + j)];
      for (int64_t k = 0; k < j; ++k)
        sum -= a[index(i * n + k)] * a[index(j * n + k)];
      if (i == j) {
        if (!(sum > 0)) return false;
        a[index(j * n + j)] = std::sqrt(sum);
      } else {
        a[index(i * n + j)] = sum / a[index(j * n + j)];
      }
    }
  }
  std::vector<double> column(index(n));
  inverse.assign(index(n * n), 0);
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = j; i < n; ++i) {
      double sum = i == j ? 1 : 0;
      for (int64_t k = j; k < i; ++k)
        sum -= a[index(i * n + k)] * column[index(k)];
      column[index(i)] = sum / a[index(i * n + i)];
      inverse[index(i * n + j)] = static_cast<float>(column[index(i)]);
    }
  }
  return true;
}

// Rows [row, end) of columns [col, col + width), as a matrix of its own.
std::vector<float> cut(std::span<const float> from, int64_t n, int64_t row, int64_t end,
                       int64_t col, int64_t width, const Exec& exec) {
  std::vector<float> part(index((end - row) * width));
  exec.for_ranges(end - row, 16, [&](int64_t begin, int64_t stop) {
    for (int64_t i = begin; i < stop; ++i)
      std::copy_n(from.data() + (row + i) * n + col, width, part.data() + i * width);
  });
  return part;
}

// Lower Cholesky in place, a block of columns at a time: subtract what the columns before it
// explain, factor the diagonal block, solve what is below. False where a pivot is not positive.
Result<bool> cholesky(std::vector<float>& a, int64_t n, const Exec& exec, TargetSet targets) {
  std::vector<float> product;
  std::vector<float> inverse;
  for (int64_t at = 0; at < n; at += kBlock) {
    const int64_t width = std::min(kBlock, n - at);
    const int64_t below = n - at;
    product.resize(index(below * width));
    if (at > 0) {
      const std::vector<float> left = cut(a, n, at, n, 0, at, exec);
      INGOT_TRY(multiply_by_transposed(
          exec, targets, {left.data(), left.data(), product.data(), below, width, at, width}));
      exec.for_ranges(below, 16, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          for (int64_t j = 0; j < width; ++j)
            a[index((at + i) * n + at + j)] -= product[index(i * width + j)];
        }
      });
    }
    std::vector<double> diagonal(index(width * width));
    for (int64_t i = 0; i < width; ++i) {
      for (int64_t j = 0; j <= i; ++j)
        diagonal[index(i * width + j)] = static_cast<double>(a[index((at + i) * n + at + j)]);
    }
    if (!factor_block(diagonal, inverse, width)) return false;
    const std::vector<float> panel = cut(a, n, at, n, at, width, exec);
    INGOT_TRY(multiply_by_transposed(
        exec, targets, {panel.data(), inverse.data(), product.data(), below, width, width, width}));
    for (int64_t i = 0; i < below; ++i) {
      for (int64_t j = 0; j < width; ++j) {
        a[index((at + i) * n + at + j)] =
            i < width ? static_cast<float>(j <= i ? diagonal[index(i * width + j)] : 0)
                      : product[index(i * width + j)];
      }
    }
  }
  return true;
}

std::vector<float> in_order(const std::vector<float>& h, int64_t n,
                            const std::vector<int32_t>& order) {
  std::vector<float> result(h.size());
  for (int64_t i = 0; i < n; ++i) {
    const float* from = h.data() + order[index(i)] * n;
    for (int64_t j = 0; j < n; ++j)
      result[index(i * n + j)] = from[order[index(j)]];
  }
  return result;
}

}  // namespace

Result<Feedback> factor_hessian(std::vector<float> hessian, int64_t cols,
                                const FeedbackOptions& options, const Exec& exec,
                                TargetSet targets) {
  INGOT_CHECK(std::ssize(hessian) == cols * cols);
  Feedback result;
  result.cols = cols;
  double mean = 0;
  for (int64_t i = 0; i < cols; ++i) {
    float& own = hessian[index(i * cols + i)];
    if (!std::isfinite(own)) return Status::invalid_data("inputs are not finite numbers");
    mean += static_cast<double>(own) / static_cast<double>(cols);
  }
  if (!(mean > 0)) mean = 1;
  if (options.orders_columns) {
    result.order.resize(index(cols));
    std::iota(result.order.begin(), result.order.end(), 0);
    std::ranges::stable_sort(result.order, [&](int32_t a, int32_t b) {
      return hessian[index(a * (cols + 1))] > hessian[index(b * (cols + 1))];
    });
    hessian = in_order(hessian, cols, result.order);
  }
  // R comes from the last column backwards: reversing both indexes makes that an ordinary factor,
  // and reversing them is reversing the array.
  std::ranges::reverse(hessian);
  double damping = options.damping;
  for (int attempt = 0; attempt < kTries; ++attempt, damping *= 10) {
    result.r = hessian;
    for (int64_t i = 0; i < cols; ++i) {
      float& own = result.r[index(i * cols + i)];
      own += static_cast<float>(damping * mean + options.shrinkage * static_cast<double>(own));
    }
    INGOT_TRY(const bool is_positive, cholesky(result.r, cols, exec, targets));
    if (!is_positive) continue;
    std::ranges::reverse(result.r);
    result.d.resize(index(cols));
    std::vector<float> inverse(index(cols));
    for (int64_t k = 0; k < cols; ++k) {
      const float pivot = result.r[index(k * cols + k)];
      result.d[index(k)] = pivot * pivot;
      inverse[index(k)] = 1.0F / pivot;
    }
    for (int64_t j = 0; j < cols; ++j) {
      for (int64_t k = j; k < cols; ++k)
        result.r[index(j * cols + k)] *= inverse[index(k)];
    }
    return result;
  }
  return Status::invalid_data("the statistics of the inputs cannot be factored; use more samples");
}

Status feed_errors(const Feedback& feedback, std::span<const float> errors, int64_t first,
                   int64_t width, std::span<float> fed, const Exec& exec, TargetSet targets) {
  if (first == 0) {
    std::ranges::fill(fed, 0.0F);
    return Status::ok();
  }
  const int64_t cols = feedback.cols;
  const int64_t rows = std::ssize(errors) / cols;
  std::vector<float> r(index(width * first));  // [width][first]: R's columns as rows
  for (int64_t j = 0; j < first; ++j) {
    for (int64_t i = 0; i < width; ++i)
      r[index(i * first + j)] = feedback.r[index(j * cols + first + i)];
  }
  const std::vector<float> before = cut(errors, cols, 0, rows, 0, first, exec);
  return multiply_by_transposed(exec, targets,
                                {before.data(), r.data(), fed.data(), rows, width, first, width});
}

}  // namespace ingot
