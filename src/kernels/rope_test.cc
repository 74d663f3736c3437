// SPDX-License-Identifier: Apache-2.0
#include "kernels/rope.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/test_random.h"

namespace ingot {
namespace {

struct RopeProblem {
  RopeProblem(Random& random, RopePairing kind, int64_t width, int64_t pair_count)
      : pairing(kind),
        head_dim(width),
        pairs(pair_count),
        x(random.normals(kTokens * kStride * width)),
        cos(random.normals(kTokens * pair_count)),
        sin(random.normals(kTokens * pair_count)) {}

  static constexpr int64_t kTokens = 3;
  static constexpr int64_t kHeads = 2;
  static constexpr int64_t kStride = 4;  // heads a token: two of them are not to be touched
  std::vector<float> run(const RopeKernel& kernel, int64_t begin, int64_t end) const {
    std::vector<float> y = x;
    kernel.run(
        {pairing, y.data(), kStride * head_dim, kHeads, head_dim, pairs, cos.data(), sin.data()},
        begin, end);
    return y;
  }
  RopePairing pairing;
  int64_t head_dim;
  int64_t pairs;
  std::vector<float> x;
  std::vector<float> cos;
  std::vector<float> sin;
};

// Each output is two products and one sum, written once: all kernels give the same bits.
TEST(Rope, EveryListedKernelMatchesTheReference) {
  Random random(test_seed());
  const RopeKernel& truth = choose_rope(TargetSet::scalar_only());
  for (const RopeKernel& kernel : rope_kernels()) {
    if (!TargetSet::of_this_machine().has(kernel.target)) continue;
    for (const RopePairing pairing : {RopePairing::kHalves, RopePairing::kNeighbours}) {
      for (const auto& [dim, pairs] : {std::pair{64, 32}, {80, 16}, {6, 3}, {30, 11}, {128, 64}}) {
        SCOPED_TRACE(fmt::format("{} {} of {}", kernel.name, pairs, dim));
        const RopeProblem problem(random, pairing, dim, pairs);
        EXPECT_EQ(problem.run(kernel, 0, 3), problem.run(truth, 0, 3));
        EXPECT_EQ(problem.run(kernel, 1, 2), problem.run(truth, 1, 2));
      }
    }
  }
}

TEST(Rope, TurnsThePairsItNames) {
  for (const RopeKernel& kernel : rope_kernels()) {
    if (!TargetSet::of_this_machine().has(kernel.target)) continue;
    const float cos[2] = {0, 1};  // a quarter turn for the first pair, none for the second
    const float sin[2] = {1, 0};
    std::vector<float> x = {1, 2, 3, 4, 5};
    kernel.run({RopePairing::kHalves, x.data(), 5, 1, 5, 2, cos, sin}, 0, 1);
    EXPECT_EQ(x, (std::vector<float>{-3, 2, 1, 4, 5})) << kernel.name;
    x = {1, 2, 3, 4, 5};
    kernel.run({RopePairing::kNeighbours, x.data(), 5, 1, 5, 2, cos, sin}, 0, 1);
    EXPECT_EQ(x, (std::vector<float>{-2, 1, 3, 4, 5})) << kernel.name;
  }
}

}  // namespace
}  // namespace ingot
