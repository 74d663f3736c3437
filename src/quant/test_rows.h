// SPDX-License-Identifier: Apache-2.0
// Rows of numbers to encode, for the tests of this folder.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "blocks/layout.h"
#include "quant/quantize_rows.h"

namespace ingot {

inline std::vector<float> normal_rows(size_t count, float spread, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(0.0F, spread);
  std::vector<float> values(count);
  for (float& value : values)
    value = normal(random);
  return values;
}

// A few values far from the rest, as trained weights have.
inline std::vector<float> heavy_rows(size_t count, float spread, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::student_t_distribution<float> heavy(4.0F);
  std::vector<float> values(count);
  for (float& value : values)
    value = spread * heavy(random);
  return values;
}

inline std::vector<float> importance_of(size_t cols, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::lognormal_distribution<float> spread(0.0F, 1.0F);
  std::vector<float> weights(cols);
  for (float& weight : weights)
    weight = spread(random);
  return weights;
}

inline std::vector<std::byte> encoded(Layout layout, std::span<const float> values, size_t cols,
                                      std::span<const float> importance = {}) {
  std::vector<std::byte> bytes(*storage_bytes(layout, values.size()).value());
  quantize_rows(layout, values, static_cast<int64_t>(cols), importance, bytes);
  return bytes;
}

inline std::vector<float> decoded(Layout layout, std::span<const std::byte> bytes, size_t count) {
  std::vector<float> values(count);
  dequantize(layout, bytes, values);
  return values;
}

inline std::vector<float> round_trip(Layout layout, std::span<const float> values, size_t cols,
                                     std::span<const float> importance = {}) {
  return decoded(layout, encoded(layout, values, cols, importance), values.size());
}

// Weighted squared error over weighted squares.
inline double relative_error(std::span<const float> values, std::span<const float> actual,
                             std::span<const float> importance = {}) {
  double error = 0;
  double total = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double weight =
        importance.empty() ? 1.0 : static_cast<double>(importance[i % importance.size()]);
    const double off = static_cast<double>(actual[i]) - static_cast<double>(values[i]);
    error += weight * off * off;
    total += weight * static_cast<double>(values[i]) * static_cast<double>(values[i]);
  }
  return total > 0 ? error / total : error;
}

}  // namespace ingot
