// SPDX-License-Identifier: Apache-2.0
// A linear layer on the GPU and on the processor, for tests that compare them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "kernels/cuda/test_device.h"
#include "kernels/linear.h"
#include "kernels/ops.h"
#include "kernels/test_random.h"

namespace ingot {

// The largest difference in terms of the outputs' root mean square.
inline double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double square = 0;
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i])) return INFINITY;
    square += static_cast<double>(b[i]) * static_cast<double>(b[i]);
    largest = std::max(largest, std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  }
  return largest / std::sqrt(square / static_cast<double>(a.size()) + 1e-30);
}

class LinearOnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    INGOT_NEEDS_DEVICE();
    ops_ = *test_device()->make_ops();
  }

  std::vector<float> on_cpu(const Linear& linear, const std::vector<float>& x, int64_t tokens) {
    Activations input(TargetSet::scalar_only());
    input.set(x.data(), tokens, linear.cols());
    std::vector<float> y = poisoned(tokens * linear.rows());
    linear.run(exec_, input, y.data(), linear.rows());
    return y;
  }

  // The weight twice in one call, or more often, so that parts of a launch are tried too; the
  // second's result.
  std::vector<float> on_gpu(const std::shared_ptr<const DeviceWeight>& weight,
                            const std::vector<float>& x, int64_t tokens, size_t times = 2) {
    const Linear linear = Linear::placed(weight);
    ops_->begin({});
    float* own_x = ops_->buffer(Buffer::kNormed, std::ssize(x));
    float* first = ops_->buffer(Buffer::kGate, tokens * linear.rows());
    float* second = ops_->buffer(Buffer::kUp, tokens * linear.rows());
    std::vector<float> y = poisoned(tokens * linear.rows());
    ops_->write(own_x, x);
    ops_->write(second, y);
    ops_->set_input(InputSlot::kBranch, own_x, tokens, linear.cols());
    std::vector<LinearOutput> outputs(times, {&linear, first, linear.rows()});
    outputs[1].y = second;
    ops_->run_linears(InputSlot::kBranch, outputs);
    const Status status = ops_->read(second, y);
    EXPECT_TRUE(status.is_ok()) << status.message();
    return y;
  }

  ThreadPool pool_{4};
  Exec exec_{pool_};
  std::unique_ptr<Ops> ops_;
};

}  // namespace ingot
