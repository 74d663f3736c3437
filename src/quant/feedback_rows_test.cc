// SPDX-License-Identifier: Apache-2.0
#include "quant/feedback_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "quant/gptq.h"
#include "quant/test_rows.h"

namespace ingot {
namespace {

constexpr Layout kFedBack[] = {Layout::kQ2_K, Layout::kQ3_K, Layout::kQ4_K, Layout::kQ5_K,
                               Layout::kQ6_K};
constexpr int64_t kFedRows = 19;  // no multiple of what is fitted together
constexpr int64_t kFedCols = 512;

class FeedbackRows : public ::testing::Test {
 protected:
  FeedbackRows() {
    // Inputs whose columns share much and differ in size, as a model's do.
    constexpr size_t kSamples = 700;
    const auto cols = static_cast<size_t>(kFedCols);
    const std::vector<float> noise = normal_rows(kSamples * cols, 1.0F, 3);
    const std::vector<float> shared = normal_rows(kSamples, 1.0F, 4);
    hessian_.resize(cols * cols);
    std::vector<float> x(cols);
    for (size_t s = 0; s < kSamples; ++s) {
      for (size_t c = 0; c < cols; ++c)
        x[c] = (noise[s * cols + c] + shared[s]) * (c % 17 == 0 ? 6.0F : 1.0F);
      x[5] = 0;  // a column that is never used
      for (size_t i = 0; i < cols; ++i) {
        for (size_t j = 0; j < cols; ++j)
          hessian_[i * cols + j] += x[i] * x[j] / kSamples;
      }
    }
  }
  Feedback factor(const std::vector<float>& hessian, const FeedbackOptions& options) {
    return *factor_hessian(hessian, kFedCols, options, exec_, targets_);
  }
  std::vector<std::byte> fed_back(Layout layout, std::span<const float> weights,
                                  const Feedback& feedback) {
    std::vector<std::byte> bytes(*storage_bytes(layout, weights.size()).value());
    EXPECT_TRUE(
        quantize_rows_with_feedback(layout, weights, feedback, bytes, exec_, targets_).is_ok());
    return bytes;
  }
  double loss(const std::vector<float>& quantized) {
    return *output_loss(weights_, quantized, kFedRows, hessian_, kFedCols, exec_, targets_);
  }

  std::vector<float> weights_ = heavy_rows(kFedRows * kFedCols, 0.05F, 7);
  std::vector<float> hessian_;
  ThreadPool pool_{2};
  Exec exec_{pool_};
  TargetSet targets_ = TargetSet::of_this_machine();
};

TEST_F(FeedbackRows, LosesLessThanRoundingByImportance) {
  std::vector<float> importance;
  for (size_t i = 0; i < kFedCols; ++i)
    importance.push_back(hessian_[i * kFedCols + i]);
  const Feedback feedback = factor(hessian_, {.shrinkage = 0.5});
  for (const Layout layout : kFedBack) {
    const std::vector<float> with =
        decoded(layout, fed_back(layout, weights_, feedback), weights_.size());
    EXPECT_LT(loss(with), 0.8 * loss(round_trip(layout, weights_, kFedCols, importance)))
        << info(layout).name;
  }
}

// The rule that feedback.h states, from the stored values alone: with the scales as they are, no
// neighbouring level is nearer to the weight and what the columns before it hand on.
TEST_F(FeedbackRows, EveryStoredValueIsTheNearestLevelToWhatItWasToTakeIn) {
  const Feedback feedback = factor(hessian_, {.shrinkage = 1.0});
  const auto cols = static_cast<size_t>(kFedCols);
  const std::vector<float> q =
      decoded(Layout::kQ4_K, fed_back(Layout::kQ4_K, weights_, feedback), weights_.size());
  for (size_t row = 0; row < static_cast<size_t>(kFedRows); ++row) {
    const float* stored = q.data() + row * cols;
    for (size_t group = 0; group < cols; group += 32) {
      float step = 0;  // the least distance of two levels that are used
      float low = stored[group];
      float high = low;
      for (size_t i = group; i < group + 32; ++i) {
        low = std::min(low, stored[i]);
        high = std::max(high, stored[i]);
        for (size_t j = group; j < i; ++j) {
          const float apart = std::fabs(stored[i] - stored[j]);
          if (apart > 1e-6F && (step == 0 || apart < step)) step = apart;
        }
      }
      for (size_t i = group; i < group + 32; ++i) {
        double wanted = static_cast<double>(weights_[row * cols + i]);
        for (size_t j = 0; j < i; ++j) {
          wanted += static_cast<double>(weights_[row * cols + j] - stored[j]) *
                    static_cast<double>(feedback.r[j * cols + i]);
        }
        // The ends of the range take all that lies beyond them.
        if (stored[i] == low || stored[i] == high) continue;
        EXPECT_NEAR(wanted, static_cast<double>(stored[i]), 0.5 * static_cast<double>(step) + 1e-5)
            << row << " " << i;
      }
    }
  }
}

TEST_F(FeedbackRows, InputsWithoutRelationsGiveWhatImportanceGives) {
  std::vector<float> diagonal(hessian_.size());
  std::vector<float> importance;
  for (size_t i = 0; i < kFedCols; ++i) {
    diagonal[i * kFedCols + i] = 1.0F + static_cast<float>(i % 5);
    importance.push_back(diagonal[i * kFedCols + i]);
  }
  const Feedback feedback = factor(diagonal, {.damping = 1e-6});
  for (const Layout layout : kFedBack) {
    // The factor's squares differ from the importance in their last bits, and so may a near tie.
    const double with = relative_error(
        weights_, decoded(layout, fed_back(layout, weights_, feedback), weights_.size()),
        importance);
    const double without =
        relative_error(weights_, round_trip(layout, weights_, kFedCols, importance), importance);
    EXPECT_NEAR(with / without, 1.0, 0.02) << info(layout).name;
  }
}

TEST_F(FeedbackRows, InputsThatAreAllZeroRoundToTheNearest) {
  const Feedback feedback = factor(std::vector<float>(hessian_.size()), {.shrinkage = 1.0});
  const std::vector<float> with =
      decoded(Layout::kQ4_K, fed_back(Layout::kQ4_K, weights_, feedback), weights_.size());
  const std::vector<float> without = round_trip(Layout::kQ4_K, weights_, kFedCols);
  EXPECT_LT(relative_error(weights_, with), 1.05 * relative_error(weights_, without));
}

TEST_F(FeedbackRows, BytesDoNotDependOnHowRowsAreSplit) {
  const Feedback feedback = factor(hessian_, {.shrinkage = 1.0});
  for (const Layout layout : kFedBack) {
    const std::vector<std::byte> whole = fed_back(layout, weights_, feedback);
    std::vector<std::byte> parts;
    for (const auto& [begin, end] : {std::pair<size_t, size_t>{0, 5}, {5, 18}, {18, 19}}) {
      const std::span<const float> rows(weights_.data() + begin * kFedCols,
                                        (end - begin) * kFedCols);
      const std::vector<std::byte> part = fed_back(layout, rows, feedback);
      parts.insert(parts.end(), part.begin(), part.end());
    }
    EXPECT_EQ(whole, parts) << info(layout).name;
  }
}

TEST_F(FeedbackRows, WeightsThatAreNotFiniteGiveFiniteScales) {
  weights_[3] = std::numeric_limits<float>::quiet_NaN();
  weights_[kFedCols + 300] = std::numeric_limits<float>::infinity();
  const Feedback feedback = factor(hessian_, {.shrinkage = 1.0});
  for (const Layout layout : kFedBack) {
    for (const float value : decoded(layout, fed_back(layout, weights_, feedback), weights_.size()))
      ASSERT_TRUE(std::isfinite(value)) << info(layout).name;
  }
}

}  // namespace
}  // namespace ingot
