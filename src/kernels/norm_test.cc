// SPDX-License-Identifier: Apache-2.0
#include "kernels/norm.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/test_random.h"

namespace ingot {
namespace {

constexpr auto kNormEpsilon = static_cast<double>(std::numeric_limits<float>::epsilon());

struct NormProblem {
  NormProblem(Random& random, NormKind norm_kind, int64_t row_count, int64_t width, int64_t heads)
      : kind(norm_kind),
        rows(row_count),
        dim(width),
        weight_rows(heads),
        x(random.normals(row_count * width)),
        weight(random.normals(heads * width)),
        bias(random.normals(heads * width)) {}

  NormArgs args(float* y, bool is_affine) const {
    return {kind,        x.data(),
            dim,         y,
            dim,         dim,
            1e-5F,       is_affine ? weight.data() : nullptr,
            weight_rows, is_affine ? bias.data() : nullptr};
  }
  NormKind kind;
  int64_t rows;
  int64_t dim;
  int64_t weight_rows;
  std::vector<float> x;
  std::vector<float> weight;
  std::vector<float> bias;
};

std::vector<float> run(const NormKernel& kernel, const NormProblem& problem,
                       bool is_affine = true) {
  std::vector<float> y = poisoned(problem.rows * problem.dim);
  kernel.run(problem.args(y.data(), is_affine), 0, problem.rows);
  return y;
}

// A sum of n terms in float is within n * eps of the sum of their magnitudes; the mean's error
// moves all values, the variance's scales them.
double bound(const NormProblem& problem, int64_t row, int64_t column, bool is_affine) {
  double magnitude = 0;
  double square = 0;
  double mean = 0;
  for (int64_t i = 0; i < problem.dim; ++i) {
    const auto x = static_cast<double>(problem.x[static_cast<size_t>(row * problem.dim + i)]);
    magnitude += std::fabs(x);
    square += x * x;
    mean += x;
  }
  const auto n = static_cast<double>(problem.dim);
  mean = problem.kind == NormKind::kLayer ? mean / n : 0;
  const double factor = 1 / std::sqrt(square / n - mean * mean + 1e-5);
  const size_t at = static_cast<size_t>(row % problem.weight_rows * problem.dim + column);
  const double weight = is_affine ? std::fabs(static_cast<double>(problem.weight[at])) : 1;
  const double bias = std::fabs(static_cast<double>(problem.bias[at]));
  const double spread = magnitude / n * factor * weight;
  const double x =
      std::fabs(static_cast<double>(problem.x[static_cast<size_t>(row * problem.dim + column)]));
  return kNormEpsilon * (n + 16) * (spread + (x + magnitude / n) * factor * weight + bias);
}

TEST(Norm, EveryListedKernelMatchesTheReference) {
  Random random(test_seed());
  const NormKernel& truth = choose_norm(TargetSet::scalar_only());
  for (const NormKernel& kernel : norm_kernels()) {
    if (!TargetSet::of_this_machine().has(kernel.target)) continue;
    for (const NormKind kind : {NormKind::kRms, NormKind::kLayer}) {
      for (const int64_t dim : {1, 7, 64, 130, 2048}) {
        const NormProblem problem(random, kind, 6, dim, 3);
        for (const bool is_affine : {true, false}) {
          SCOPED_TRACE(fmt::format("{} kind {} dim {}", kernel.name, static_cast<int>(kind), dim));
          const std::vector<float> expected = run(truth, problem, is_affine);
          const std::vector<float> actual = run(kernel, problem, is_affine);
          for (int64_t i = 0; i < problem.rows * dim; ++i) {
            const auto at = static_cast<size_t>(i);
            ASSERT_NEAR(actual[at], expected[at], bound(problem, i / dim, i % dim, is_affine));
          }
        }
      }
    }
  }
}

TEST(Norm, ARowDoesNotSeeItsNeighboursNorItsPlace) {
  Random random(test_seed());
  for (const NormKernel& kernel : norm_kernels()) {
    if (!TargetSet::of_this_machine().has(kernel.target)) continue;
    const NormProblem problem(random, NormKind::kLayer, 5, 203, 1);
    const std::vector<float> whole = run(kernel, problem);
    for (int64_t row = 0; row < problem.rows; ++row) {
      std::vector<float> in_place(problem.x.begin() + row * 203,
                                  problem.x.begin() + (row + 1) * 203);
      NormArgs args = problem.args(in_place.data(), true);
      args.x = in_place.data();
      kernel.run(args, 0, 1);
      EXPECT_TRUE(std::equal(in_place.begin(), in_place.end(), whole.begin() + row * 203))
          << kernel.name << " row " << row;
    }
  }
}

}  // namespace
}  // namespace ingot
