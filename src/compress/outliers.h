// SPDX-License-Identifier: Apache-2.0
// Where a model is hard to quantize: inputs of linear layers whose columns stand out, weights whose
// range is wide for their size, and what a few types lose of each matrix.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "calibrate/layer_walk.h"

namespace ingot {

struct OutlierColumn {
  int64_t column = 0;
  float largest = 0;  // of |x|
};

struct InputOutliers {
  size_t layer = 0;
  LinearInput input = LinearInput::kMixerIn;
  int64_t cols = 0;
  float largest = 0;     // of |x|, over all columns
  float median = 0;      // of the columns' largest
  int64_t outliers = 0;  // columns that reach ten times the median
  double kurtosis = 0;   // of all values; 3 for a normal distribution
  std::vector<OutlierColumn> top;
};

struct WeightRange {
  std::string name;
  size_t layer = 0;
  int64_t rows = 0;
  int64_t cols = 0;
  float largest = 0;
  double rms = 0;
  // Relative error, sqrt(sum e^2 / sum w^2), in each of kErrorTypes.
  std::array<double, 4> errors{};
};
inline constexpr std::array<Layout, 4> kErrorTypes = {Layout::kQ8_0, Layout::kQ6_K, Layout::kQ4_K,
                                                      Layout::kQ2_K};

struct OutlierReport {
  int64_t tokens = 0;
  std::vector<InputOutliers> inputs;
  std::vector<WeightRange> weights;
};

std::string_view to_string(LinearInput input);  // "attention in", ...

// The walk must stand before the first layer.
Result<OutlierReport> find_outliers(std::shared_ptr<const Checkpoint> checkpoint,
                                    const ModelPlan& plan, LayerWalk& walk,
                                    const std::function<void(double fraction)>& progress);

}  // namespace ingot
