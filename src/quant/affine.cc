// SPDX-License-Identifier: Apache-2.0
#include "quant/affine.h"

#include <limits>

#include "base/check.h"
#include "base/float_types.h"

namespace ingot {
namespace {

constexpr int kShrinkSteps = 24;      // ranges tried
constexpr float kLeastShare = 0.52F;  // of the whole range
constexpr int64_t kRowGrain = 4;

// Squared error of the group on a grid.
float loss_of(std::span<const float> values, std::span<const float> weights, const AffineGrid& grid,
              float top) {
  const float inverse = 1.0F / grid.scale;
  const auto zero = static_cast<float>(grid.zero);
  float loss = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const float code = std::clamp(std::nearbyint(values[i] * inverse) + zero, 0.0F, top);
    const float error = values[i] - grid.scale * (code - zero);
    loss += error * error * (weights.empty() ? 1.0F : weights[i]);
  }
  return loss;
}

AffineGrid grid_of(float least, float most, const AffineOptions& options) {
  const auto top = static_cast<float>((1 << options.bits) - 1);
  AffineGrid grid;
  if (options.is_symmetric) {
    grid.zero = static_cast<uint8_t>(1 << (options.bits - 1));
    // The middle code leaves one code more below than above.
    const float reach = std::max(-least / static_cast<float>(grid.zero),
                                 most / (top - static_cast<float>(grid.zero)));
    grid.scale = round_scale(reach, options.scale_layout);
    return grid;
  }
  grid.scale = round_scale((most - least) / top, options.scale_layout);
  grid.zero = static_cast<uint8_t>(
      std::clamp(std::nearbyint(-least / grid.scale), static_cast<float>(options.least_zero), top));
  return grid;
}

}  // namespace

float round_scale(float scale, Layout layout) {
  // A group of zeros, or of values next to it, still needs a scale that a reader takes: a normal
  // number of its type.
  const float least = layout == Layout::kF16 ? 6.2e-5F : 1e-30F;
  if (!(scale > least)) return least;
  if (layout == Layout::kF16) return to_float(to_half(std::min(scale, 65504.0F)));
  if (layout == Layout::kBF16) return to_float(to_bfloat16(scale));
  return scale;
}

AffineGrid fit_affine(std::span<const float> values, std::span<const float> weights,
                      const AffineOptions& options) {
  float least = 0;  // zero is always on the grid
  float most = 0;
  for (const float value : values) {
    least = std::min(least, value);
    most = std::max(most, value);
  }
  if (options.is_symmetric && !options.searches) {
    // As everybody does it: the range is symmetric too.
    most = std::max(most, -least);
    least = -most;
  }
  AffineGrid best = grid_of(least, most, options);
  if (!options.searches) return best;
  const auto top = static_cast<float>((1 << options.bits) - 1);
  float best_loss = loss_of(values, weights, best, top);
  for (int step = 1; step <= kShrinkSteps; ++step) {
    const float share =
        1.0F - (1.0F - kLeastShare) * static_cast<float>(step) / static_cast<float>(kShrinkSteps);
    const AffineGrid grid = grid_of(least * share, most * share, options);
    const float loss = loss_of(values, weights, grid, top);
    if (loss < best_loss) {
      best = grid;
      best_loss = loss;
    }
  }
  return best;
}

std::vector<int32_t> AffineCodes::group_of_columns() const {
  std::vector<int32_t> result(static_cast<size_t>(cols));
  for (int64_t i = 0; i < cols; ++i) {
    const auto column =
        order.empty() ? static_cast<size_t>(i) : static_cast<size_t>(order[static_cast<size_t>(i)]);
    result[column] = static_cast<int32_t>(i / group_columns);
  }
  return result;
}

std::vector<float> AffineCodes::values() const {
  const std::vector<int32_t> group = group_of_columns();
  std::vector<float> result(codes.size());
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t col = 0; col < cols; ++col) {
      const auto at = static_cast<size_t>(row * cols + col);
      const auto in = static_cast<size_t>(row * groups() + group[static_cast<size_t>(col)]);
      result[at] = affine_value(codes[at], {scales[in], zeros[in]});
    }
  }
  return result;
}

AffineCodes make_affine(int64_t rows, int64_t cols, const AffineOptions& options) {
  INGOT_CHECK(options.bits >= 2 && options.bits <= 8);
  AffineCodes result;
  result.rows = rows;
  result.cols = cols;
  result.bits = options.bits;
  result.group_columns = options.group_columns == 0 ? cols : options.group_columns;
  result.is_symmetric = options.is_symmetric;
  result.codes.resize(static_cast<size_t>(rows * cols));
  result.scales.resize(static_cast<size_t>(rows * result.groups()));
  result.zeros.resize(result.scales.size());
  return result;
}

AffineCodes quantize_affine(std::span<const float> values, int64_t rows, int64_t cols,
                            std::span<const float> weights, const AffineOptions& options,
                            const Exec& exec) {
  AffineCodes result = make_affine(rows, cols, options);
  const int64_t groups = result.groups();
  exec.for_ranges(rows, kRowGrain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t group = 0; group < groups; ++group) {
        const int64_t first = group * result.group_columns;
        const auto width = static_cast<size_t>(std::min(result.group_columns, cols - first));
        const auto at = static_cast<size_t>(row * cols + first);
        const AffineGrid grid = fit_affine(
            values.subspan(at, width),
            weights.empty() ? weights : weights.subspan(static_cast<size_t>(first), width),
            options);
        result.scales[static_cast<size_t>(row * groups + group)] = grid.scale;
        result.zeros[static_cast<size_t>(row * groups + group)] = grid.zero;
        for (size_t i = 0; i < width; ++i)
          result.codes[at + i] = affine_code(values[at + i], grid, options.bits);
      }
    }
  });
  return result;
}

}  // namespace ingot
