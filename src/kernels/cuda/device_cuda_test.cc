// SPDX-License-Identifier: Apache-2.0
// What a GPU does beside computing: copies of weights, its ceilings, and how it fails.
#include <gtest/gtest.h>

#include <cstdlib>

#include "kernels/cuda/test_device.h"
#include "kernels/linear.h"
#include "kernels/ops.h"
#include "kernels/test_quant.h"
#include "kernels/test_random.h"

namespace ingot {
namespace {

class DeviceCuda : public ::testing::Test {
 protected:
  void SetUp() override { INGOT_NEEDS_DEVICE(); }

  std::vector<float> product(const std::shared_ptr<const DeviceWeight>& weight,
                             const std::vector<float>& x) {
    const std::unique_ptr<Ops> ops = *test_device()->make_ops();
    const Linear linear = Linear::placed(weight);
    ops->begin({});
    float* own_x = ops->buffer(Buffer::kNormed, std::ssize(x));
    float* own_y = ops->buffer(Buffer::kUp, linear.rows());
    ops->write(own_x, x);
    ops->set_input(InputSlot::kBranch, own_x, 1, linear.cols());
    const std::array outputs{LinearOutput{&linear, own_y, linear.rows()}};
    ops->run_linears(InputSlot::kBranch, outputs);
    std::vector<float> y = poisoned(linear.rows());
    const Status status = ops->read(own_y, y);
    EXPECT_TRUE(status.is_ok()) << status.message();
    return y;
  }

  ThreadPool pool_{4};
  Exec exec_{pool_};
  Random random_{test_seed()};
};

// The first one goes before the second is used: nothing of it may be shared.
TEST_F(DeviceCuda, ACopyOfAWeightIsTheSameInMemoryOfItsOwn) {
  for (const Packing packing : {Packing::kF8, Packing::kGroups8Zero, Packing::kGroupsNf4}) {
    RandomQuant quant = random_quant(random_, packing, 96, 512);
    if (packing == Packing::kGroups8Zero) {  // zero points of inputs: sums of rows too
      quant.tensor.input = {.kind = InputKind::kInt8, .is_symmetric = false};
    }
    auto first = *test_device()->place(quant.tensor, {}, {}, exec_);
    const std::vector<float> x = random_.normals(512);
    const std::vector<float> expected = product(first, x);
    Result<std::shared_ptr<const DeviceWeight>> second = test_device()->duplicate(*first);
    ASSERT_TRUE(second.is_ok()) << second.status().message();
    EXPECT_EQ((*second)->size_bytes(), first->size_bytes());
    EXPECT_EQ((*second)->input_kind(), quant.tensor.input.kind);
    first.reset();
    EXPECT_EQ(product(*second, x), expected);
  }
}

TEST_F(DeviceCuda, ItsCeilingsAreSpeedsOfAGpu) {
  const Result<DeviceCeilings> ceilings = test_device()->measure_ceilings();
  ASSERT_TRUE(ceilings.is_ok()) << ceilings.status().message();
  EXPECT_GT(ceilings->read_bytes_per_s, 5e10);
  EXPECT_LT(ceilings->read_bytes_per_s, 5e13);
  EXPECT_GT(ceilings->attention_flops_per_s, 1e10);
  EXPECT_LT(ceilings->attention_flops_per_s, 5e16);
  if (ceilings->bf16_flops_per_s > 0) {  // where cuBLASLt is
    EXPECT_GT(ceilings->bf16_flops_per_s, 1e12);
    EXPECT_LT(ceilings->bf16_flops_per_s, 5e16);
  }
}

TEST_F(DeviceCuda, RunningOutOfMemoryIsNotTheEnd) {
  EXPECT_EQ(test_device()->fail(DeviceFault::kOutOfMemory).code(), StatusCode::kResourceExhausted);
  EXPECT_FALSE(test_device()->is_lost());
  const RandomQuant quant = random_quant(random_, Packing::kGroups4Zero, 32, 256);
  EXPECT_TRUE(test_device()->place(quant.tensor, {}, {}, exec_).is_ok());
}

// In a process of its own, which cannot compute any more afterwards.
TEST_F(DeviceCuda, AKernelThatTrapsLosesTheDevice) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto lose = [] {
    const Status status = test_device()->fail(DeviceFault::kTrap);
    const bool is_lost = status.code() == StatusCode::kInternal && test_device()->is_lost();
    const bool refuses = !test_device()->allocate(1 << 20).is_ok();
    std::_Exit(is_lost && refuses ? 7 : 1);
  };
  EXPECT_EXIT(lose(), ::testing::ExitedWithCode(7), "");
  EXPECT_FALSE(test_device()->is_lost());
}

}  // namespace
}  // namespace ingot
