// SPDX-License-Identifier: Apache-2.0
#include "compress/outliers.h"

#include <algorithm>
#include <cmath>

#include "calibrate/input_stats.h"
#include "compress/layer_modules.h"
#include "quant/mixture.h"
#include "quant/quantize_rows.h"

namespace ingot {
namespace {

constexpr float kOutlierRatio = 10;
constexpr size_t kTopColumns = 5;
constexpr int64_t kOutlierRows = 128;

// Sums of powers, for the kurtosis.
struct Moments {
  double count = 0;
  double squares = 0;
  double fourths = 0;
  void add(std::span<const float> x) {
    for (const float value : x) {
      const double square = static_cast<double>(value) * static_cast<double>(value);
      squares += square;
      fourths += square * square;
    }
    count += static_cast<double>(x.size());
  }
  double kurtosis() const { return squares > 0 ? fourths * count / (squares * squares) : 0; }
};

InputOutliers describe(size_t layer, LinearInput input, const InputStats& stats,
                       const Moments& moments) {
  InputOutliers result;
  result.layer = layer;
  result.input = input;
  result.cols = stats.cols();
  result.kurtosis = moments.kurtosis();
  std::vector<OutlierColumn> columns;
  for (int64_t c = 0; c < stats.cols(); ++c)
    columns.push_back({c, stats.largest()[static_cast<size_t>(c)]});
  std::ranges::stable_sort(columns, std::greater{}, &OutlierColumn::largest);
  result.largest = columns.front().largest;
  result.median = columns[columns.size() / 2].largest;
  result.outliers = std::ranges::count_if(columns, [&](const OutlierColumn& column) {
    return column.largest > kOutlierRatio * result.median;
  });
  columns.resize(std::min(columns.size(), kTopColumns));
  result.top = std::move(columns);
  return result;
}

WeightRange describe(const LayerModule& module, std::span<const float> weights, const Exec& exec) {
  WeightRange result;
  result.name = module.name;
  result.layer = module.layer;
  result.rows = module.rows;
  result.cols = module.cols;
  double squares = 0;
  for (const float weight : weights) {
    result.largest = std::max(result.largest, std::fabs(weight));
    squares += static_cast<double>(weight) * static_cast<double>(weight);
  }
  result.rms = std::sqrt(squares / static_cast<double>(weights.size()));
  const int64_t wanted = std::min(module.rows, kOutlierRows);
  const auto cols = static_cast<size_t>(module.cols);
  for (size_t t = 0; t < kErrorTypes.size(); ++t) {
    const Layout layout = fit_layout(kErrorTypes[t], module.cols);
    const uint64_t row_bytes = storage_bytes(layout, cols).value_or(0);
    std::vector<double> error(static_cast<size_t>(wanted));
    std::vector<double> energy(static_cast<size_t>(wanted));
    exec.for_ranges(wanted, 1, [&](int64_t begin, int64_t end) {
      std::vector<std::byte> bytes(row_bytes);
      std::vector<float> decoded(cols);
      for (int64_t i = begin; i < end; ++i) {
        const auto row =
            weights.subspan(static_cast<size_t>(i * module.rows / wanted) * cols, cols);
        quantize_rows(layout, row, module.cols, {}, bytes);
        dequantize(layout, bytes, decoded);
        for (size_t c = 0; c < cols; ++c) {
          const double e = static_cast<double>(row[c] - decoded[c]);
          error[static_cast<size_t>(i)] += e * e;
          energy[static_cast<size_t>(i)] +=
              static_cast<double>(row[c]) * static_cast<double>(row[c]);
        }
      }
    });
    double errors = 0;
    double energies = 0;
    for (size_t i = 0; i < error.size(); ++i) {
      errors += error[i];
      energies += energy[i];
    }
    result.errors[t] = energies > 0 ? std::sqrt(errors / energies) : 0;
  }
  return result;
}

}  // namespace

std::string_view to_string(LinearInput input) {
  switch (input) {
    case LinearInput::kMixerIn:
      return "attention in";
    case LinearInput::kMixerInner:
      return "attention out";
    case LinearInput::kFfnIn:
      return "ffn in";
    case LinearInput::kFfnInner:
      return "ffn inner";
  }
  return "?";
}

Result<OutlierReport> find_outliers(std::shared_ptr<const Checkpoint> checkpoint,
                                    const ModelPlan& plan, LayerWalk& walk,
                                    const std::function<void(double fraction)>& progress) {
  OutlierReport report;
  report.tokens = walk.tokens();
  for (size_t layer = 0; layer < walk.layers(); ++layer) {
    std::array<InputStats, kLinearInputs> stats;
    std::array<Moments, kLinearInputs> moments;
    for (size_t i = 0; i < kLinearInputs; ++i)
      stats[i] = InputStats(walk.columns(static_cast<LinearInput>(i)));
    INGOT_TRY(const std::vector<LayerModule> modules, layer_modules(*checkpoint, plan, layer));
    for (const LayerModule& module : modules) {
      INGOT_TRY(const std::vector<float> weights,
                read_module(*checkpoint, plan, module, walk.exec()));
      report.weights.push_back(describe(module, weights, walk.exec()));
    }
    INGOT_TRY(walk.advance({}, [&](LinearInput input, std::span<const float> x) {
      stats[static_cast<size_t>(input)].add(x);
      moments[static_cast<size_t>(input)].add(x);
    }));
    for (size_t i = 0; i < kLinearInputs; ++i)
      report.inputs.push_back(describe(layer, static_cast<LinearInput>(i), stats[i], moments[i]));
    if (progress) progress(static_cast<double>(layer + 1) / static_cast<double>(walk.layers()));
  }
  return report;
}

}  // namespace ingot
