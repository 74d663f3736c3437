// SPDX-License-Identifier: Apache-2.0
// The ops between linears on the GPU against the processor's.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <list>

#include "kernels/cpu_ops.h"
#include "kernels/cuda/test_device.h"
#include "kernels/test_random.h"

namespace ingot {
namespace {

class OpsCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    INGOT_NEEDS_DEVICE();
    gpu_ = *test_device()->make_ops();
  }

  // Runs a function of two buffers, kHidden and kBranch, on both and compares what is in them.
  void compare(const OpsStep& step, const std::vector<float>& a, const std::vector<float>& b,
               const std::function<void(Ops&, float*, float*)>& function, float limit = 1e-5F) {
    std::array<std::vector<float>, 4> results;
    size_t next = 0;
    for (Ops* ops : {static_cast<Ops*>(&cpu_), gpu_.get()}) {
      ops->begin(step);
      float* first = ops->buffer(Buffer::kHidden, std::ssize(a));
      float* second = ops->buffer(Buffer::kBranch, std::ssize(b));
      ops->write(first, a);
      ops->write(second, b);
      function(*ops, first, second);
      for (const auto& [from, like] : {std::pair(first, &a), std::pair(second, &b)}) {
        results[next].resize(like->size());
        const Status status = ops->read(from, results[next++]);
        ASSERT_TRUE(status.is_ok()) << status.message();
      }
    }
    for (size_t list = 0; list < 2; ++list) {
      for (size_t i = 0; i < results[list].size(); ++i) {
        ASSERT_NEAR(results[list + 2][i], results[list][i],
                    limit * (1 + std::fabs(results[list][i])))
            << "buffer " << list << " at " << i;
      }
    }
  }

  ThreadPool pool_{2};
  CpuOps cpu_{Exec(pool_), TargetSet::scalar_only(), KvCacheType::kF32};
  std::unique_ptr<Ops> gpu_;
  Random random_{test_seed()};
  std::list<std::vector<float>> kept_;
};

TEST_F(OpsCuda, NormsAreTheProcessors) {
  for (const int64_t dim : {1, 31, 64, 128, 1000, 4096}) {
    for (const NormKind kind : {NormKind::kRms, NormKind::kLayer}) {
      // Constants are known by their address, which must not come again.
      const std::vector<float>& weight = kept_.emplace_back(random_.normals(2 * dim));
      const std::vector<float>& bias = kept_.emplace_back(random_.normals(2 * dim));
      const std::vector<float> x = random_.normals(6 * dim);
      const NormOp norm{kind, 1e-5F, weight, bias};
      compare(
          {}, x, poisoned(6 * dim),
          [&](Ops& ops, float* a, float* b) { ops.normalize(norm, a, b, 6, dim); }, 1e-4F);
      compare(
          {}, x, x, [&](Ops& ops, float* a, float* b) { ops.normalize(norm, a, b, 6, dim); },
          1e-4F);
      const NormOp plain{kind, 1e-5F, {}, {}};
      compare(
          {}, x, random_.normals(6 * dim),
          [&](Ops& ops, float* a, float* b) {
            ops.add_and_normalize(a, b, 0.5F, plain, ops.buffer(Buffer::kNormed, 6 * dim), 6, dim);
          },
          1e-4F);
    }
  }
}

TEST_F(OpsCuda, RotationsAreTheProcessors) {
  for (const RopePairing pairing : {RopePairing::kHalves, RopePairing::kNeighbours}) {
    const std::vector<float> cos = random_.normals(5 * 16);
    const std::vector<float> sin = random_.normals(5 * 16);
    const RopeAngles angles{pairing, cos.data(), sin.data(), 16};
    const std::vector<int32_t> tokens(5);
    OpsStep step;
    step.tokens = tokens;
    step.ropes = {&angles, 1};
    compare(step, random_.normals(5 * 3 * 40), {}, [&](Ops& ops, float* a, float*) {
      ops.rotate({0, a, 3, 40});
    });
  }
}

TEST_F(OpsCuda, ElementwiseOpsAreTheProcessors) {
  const std::vector<float> x = random_.normals(1000);
  const std::vector<float> y = random_.normals(1000);
  for (int kind = 0; kind <= static_cast<int>(Activation::kReluSquared); ++kind) {
    const auto activation = static_cast<Activation>(kind);
    compare({}, x, y,
            [&](Ops& ops, float* a, float* b) { ops.activate(activation, a, b, b, 1000); });
    compare({}, x, y,
            [&](Ops& ops, float* a, float*) { ops.activate(activation, a, nullptr, a, 1000); });
  }
  compare({}, x, y, [&](Ops& ops, float* a, float* b) { ops.add_scaled(a, b, 0.3F, 1000); });
  compare({}, x, y, [&](Ops& ops, float* a, float*) { ops.clamp(a, 0.7F, 1000); });
  compare({}, x, y, [&](Ops& ops, float* a, float*) { ops.finish_logits(a, 2, 3, 1000); });
}

TEST_F(OpsCuda, RowsAreFoundByTheStepsLists) {
  const std::vector<int32_t> tokens(7);
  const std::vector<int64_t> outputs{1, 4, 6};
  const std::vector<int32_t> positions{0, 3, 2, 2, 1, 0, 3};
  const std::vector<float> table = random_.normals(4 * 65);
  OpsStep step;
  step.tokens = tokens;
  step.output_rows = outputs;
  step.position_rows = positions;
  compare(step, random_.normals(7 * 65), poisoned(3 * 65), [&](Ops& ops, float* a, float* b) {
    ops.add_positions(table, a, 65);
    ops.copy_rows(RowList::kOutput, a, 65, b);
  });
}

TEST_F(OpsCuda, EmbeddingsAreTheProcessorsInEveryLayout) {
  for (const Layout layout :
       {Layout::kF32, Layout::kF16, Layout::kBF16, Layout::kQ4_0, Layout::kQ5_1, Layout::kQ8_0,
        Layout::kQ2_K, Layout::kQ3_K, Layout::kQ4_K, Layout::kQ5_K, Layout::kQ6_K, Layout::kIQ4_XS,
        Layout::kIQ2_S, Layout::kIQ1_S, Layout::kMXFP4, Layout::kTQ1_0}) {
    const std::vector<std::byte> bytes = random_.weights(layout, 50 * 512);
    const TensorView view{layout, Shape{50, 512}, bytes};
    const auto placed = test_device()->place(view, {}, {}, Exec(pool_));
    ASSERT_TRUE(placed.is_ok()) << placed.status().message();
    const Linear linear = Linear::placed(*placed);
    const std::vector<int32_t> tokens{0, 49, 17, 16, 31};
    OpsStep step;
    step.tokens = tokens;
    compare(step, poisoned(5 * 512), {}, [&](Ops& ops, float* a, float*) {
      ops.embed({&view, &linear}, 0.5F, a, 512);
    });
  }
}

}  // namespace
}  // namespace ingot
