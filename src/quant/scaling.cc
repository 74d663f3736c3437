// SPDX-License-Identifier: Apache-2.0
#include "quant/scaling.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "quant/gptq.h"
#include "quant/matrix_index.h"

namespace ingot {
namespace {

constexpr int64_t kSampleRows = 128;  // of each weight, evenly spread: enough to compare alphas
constexpr int kAwqSteps = 20;
constexpr float kLeastScale = 1e-4F;

std::vector<float> sample_rows(const ScaleProblem& problem) {
  std::vector<float> result;
  for (const std::span<const float> weight : problem.weights) {
    const int64_t rows = std::ssize(weight) / problem.cols;
    const int64_t wanted = std::min(rows, kSampleRows);
    for (int64_t i = 0; i < wanted; ++i) {
      const auto row = weight.subspan(index(i * rows / wanted * problem.cols), index(problem.cols));
      result.insert(result.end(), row.begin(), row.end());
    }
  }
  return result;
}

// Around one: a common factor changes nothing but the range of the scales.
void normalize(std::vector<float>& scales) {
  float least = scales.front();
  float most = scales.front();
  for (float& scale : scales) {
    if (!std::isfinite(scale)) scale = 1;
    scale = std::max(scale, kLeastScale);
    least = std::min(least, scale);
    most = std::max(most, scale);
  }
  const float middle = std::sqrt(least * most);
  for (float& scale : scales)
    scale /= middle;
}

// The sampled rows as a reader sees them once the scales are folded away again.
std::vector<float> seen_through(const std::vector<float>& rows, const ScaleProblem& problem,
                                std::span<const float> scales, const AffineOptions& options,
                                const Exec& exec) {
  std::vector<float> scaled = rows;
  scale_columns(scaled, scales);
  std::vector<float> weights(index(problem.cols));
  for (size_t c = 0; c < weights.size(); ++c) {
    weights[c] = problem.hessian[c * (weights.size() + 1)] / (scales[c] * scales[c]);
  }
  const int64_t count = std::ssize(rows) / problem.cols;
  std::vector<float> seen =
      quantize_affine(scaled, count, problem.cols, weights, options, exec).values();
  for (size_t at = 0; at < seen.size(); ++at)
    seen[at] /= scales[at % weights.size()];
  return seen;
}

// What bytes per token do to the inputs, as squared error of the sampled rows' outputs.
double input_loss(const std::vector<float>& rows, const ScaleProblem& problem,
                  std::span<const float> scales) {
  if (problem.inputs.empty()) return 0;
  const auto cols = index(problem.cols);
  double step_squares = 0;
  for (size_t at = 0; at < problem.inputs.size(); at += cols) {
    float most = 0;
    for (size_t c = 0; c < cols; ++c)
      most = std::max(most, std::fabs(problem.inputs[at + c] / scales[c]));
    const double step = static_cast<double>(most) / 127;
    step_squares += step * step;
  }
  const double tokens = static_cast<double>(problem.inputs.size() / cols);
  double weight_squares = 0;
  for (size_t at = 0; at < rows.size(); ++at) {
    const double weight = static_cast<double>(rows[at] * scales[at % cols]);
    weight_squares += weight * weight;
  }
  // Rounding errors are spread evenly over a step: a twelfth of its square.
  return step_squares / tokens / 12 * weight_squares / static_cast<double>(rows.size() / cols);
}

using Loss = std::function<Result<double>(std::span<const float> scales)>;

// One way to make scales: column by column.
using ScaleOf = std::function<double(size_t column)>;

Result<ScaleChoice> search(int64_t cols, std::span<const ScaleOf> ways, const Loss& loss,
                           const ConstrainScales& constrain) {
  ScaleChoice best;
  best.scales.assign(index(cols), 1.0F);
  if (constrain) constrain(best.scales);
  INGOT_TRY(best.plain_loss, loss(best.scales));
  best.loss = best.plain_loss;
  for (const ScaleOf& scale_of : ways) {
    std::vector<float> scales(index(cols));
    for (size_t c = 0; c < scales.size(); ++c)
      scales[c] = static_cast<float>(scale_of(c));
    normalize(scales);
    if (constrain) constrain(scales);
    INGOT_TRY(const double tried, loss(scales));
    if (tried >= best.loss) continue;
    best.scales = std::move(scales);
    best.loss = tried;
  }
  return best;
}

// How much of its group's range a column takes up, in the mean of the rows.
std::vector<double> range_shares(const std::vector<float>& rows, int64_t cols,
                                 int64_t group_columns) {
  const size_t width = index(group_columns > 0 ? group_columns : cols);
  const auto count = static_cast<double>(rows.size() / index(cols));
  std::vector<double> shares(index(cols), 0.0);
  for (size_t row = 0; row < rows.size(); row += shares.size()) {
    for (size_t first = 0; first < shares.size(); first += width) {
      const size_t end = std::min(first + width, shares.size());
      float most = 1e-9F;
      for (size_t c = first; c < end; ++c)
        most = std::max(most, std::fabs(rows[row + c]));
      for (size_t c = first; c < end; ++c)
        shares[c] += static_cast<double>(std::fabs(rows[row + c]) / most) / count;
    }
  }
  return shares;
}

}  // namespace

void scale_columns(std::span<float> weights, std::span<const float> scales) {
  for (size_t at = 0; at < weights.size(); at += scales.size()) {
    for (size_t c = 0; c < scales.size(); ++c)
      weights[at + c] *= scales[c];
  }
}

Result<ScaleChoice> search_awq_scales(const ScaleProblem& problem, const AffineOptions& options,
                                      const ConstrainScales& constrain, const Exec& exec,
                                      TargetSet targets) {
  const std::vector<float> rows = sample_rows(problem);
  const int64_t count = std::ssize(rows) / problem.cols;
  AffineOptions quick = options;  // the range of every group is searched when the scales are known
  quick.searches = false;
  const Loss loss = [&](std::span<const float> scales) {
    return output_loss(rows, seen_through(rows, problem, scales, quick, exec), count,
                       problem.hessian, problem.cols, exec, targets);
  };
  constexpr double kShareFloor = 1e-4;
  const std::vector<double> shares = range_shares(rows, problem.cols, options.group_columns);
  std::vector<ScaleOf> ways;
  for (int step = 1; step <= kAwqSteps; ++step) {
    ways.emplace_back([&, alpha = static_cast<double>(step) / kAwqSteps](size_t c) {
      return std::pow(static_cast<double>(problem.magnitudes[c]), alpha);
    });
  }
  for (int step = 0; step < kAwqSteps; ++step) {
    ways.emplace_back([&, alpha = static_cast<double>(step) / kAwqSteps](size_t c) {
      return std::pow(static_cast<double>(problem.magnitudes[c]), alpha) /
             std::pow(shares[c] + kShareFloor, 1 - alpha);
    });
  }
  return search(problem.cols, ways, loss, constrain);
}

Result<ScaleChoice> search_smooth_scales(const ScaleProblem& problem,
                                         const ConstrainScales& constrain, const Exec& exec,
                                         TargetSet targets) {
  const std::vector<float> rows = sample_rows(problem);
  const int64_t count = std::ssize(rows) / problem.cols;
  std::vector<float> widest(index(problem.cols));
  for (const std::span<const float> weight : problem.weights) {
    for (size_t at = 0; at < weight.size(); ++at) {
      float& most = widest[at % widest.size()];
      most = std::max(most, std::fabs(weight[at]));
    }
  }
  const AffineOptions bytes{8, 0, true, Layout::kF32, 0, false};
  const Loss loss = [&](std::span<const float> scales) -> Result<double> {
    INGOT_TRY(const double weights,
              output_loss(rows, seen_through(rows, problem, scales, bytes, exec), count,
                          problem.hessian, problem.cols, exec, targets));
    return weights + input_loss(rows, problem, scales);
  };
  std::vector<ScaleOf> ways;
  for (const double alpha :
       {0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9}) {
    ways.emplace_back([&, alpha](size_t c) {
      const double x = std::max(static_cast<double>(problem.largest[c]), 1e-5);
      const double w = std::max(static_cast<double>(widest[c]), 1e-5);
      return std::pow(x, alpha) / std::pow(w, 1 - alpha);
    });
  }
  return search(problem.cols, ways, loss, constrain);
}

}  // namespace ingot
