// SPDX-License-Identifier: Apache-2.0
// Weights in rows by 9 to 256 tokens, which Hopper has a kernel of its own for: what the processor
// gives, for tiles of rows, tokens and columns that are full and that are not. Three weights at a
// time: those it takes for the most tokens.
#include <gtest/gtest.h>

#include "kernels/cuda/cuda_device.h"
#include "kernels/cuda/linear.h"
#include "kernels/cuda/test_rows.h"

namespace ingot {
namespace {

// Tensor cores of Hopper add products of e4m3 with 13 bits behind the largest: at most 2^-13 of it
// is lost with each.
constexpr double kE4m3Limit = 0.02;
constexpr double kLimit = 1e-3;

class LinearRowsSm90Cuda : public RowsOnGpu {
 protected:
  void compare(int64_t rows, int64_t cols, std::initializer_list<int64_t> counts) {
    const int64_t most = std::max(counts);
    const std::vector<float> x = random_.normals(most * cols);
    for (const Case& one : cases(rows, x, most)) {
      ASSERT_NE(one.placed, nullptr);
      for (const int64_t tokens : counts) {
        EXPECT_LE(distance(on_gpu(one.placed, first_rows(x, tokens, cols), tokens, 3),
                           first_rows(one.wanted, tokens, rows)),
                  one.has_e4m3_inputs ? kE4m3Limit : kLimit)
            << one.name << " [" << rows << ", " << cols << "] by " << tokens;
      }
    }
  }
};

TEST_F(LinearRowsSm90Cuda, AnyNumberOfTokensGivesWhatTheProcessorGives) {
  compare(40, 512, {9, 16, 17, 32, 33, 64, 65, 100, 128, 129, 256});
}

// Columns that a cluster shares evenly and unevenly, and that fill no step.
TEST_F(LinearRowsSm90Cuda, AnyNumberOfColumnsDoes) {
  compare(200, 192, {9, 65});
  compare(130, 1088, {16, 33, 100});
  compare(200, 4096, {17, 64, 129});
  compare(40, 14336, {32, 256});
}

// So many tiles of rows that the columns are cut in four, in three, in two and not at all: blocks
// then fetch together.
TEST_F(LinearRowsSm90Cuda, AnyNumberOfRowsDoes) {
  compare(1000, 4096, {9, 40});
  compare(5003, 704, {17, 33});
  compare(8200, 384, {9, 32});
  compare(17003, 192, {16, 33, 70});
}

// Tiles of rows are odd, so that a cluster has one too many.
TEST_F(LinearRowsSm90Cuda, OutputsOfAnyStrideAreWritten) {
  constexpr int64_t kCols = 192;
  for (const auto& [rows, tokens] : {std::pair{132, 20}, std::pair{17004, 40}}) {
    const std::vector<float> x = random_.normals(tokens * kCols);
    for (const Case& one : cases(rows, x, tokens)) {
      ASSERT_NE(one.placed, nullptr);
      const std::vector<float> dense = on_gpu(one.placed, x, tokens, 3);
      const Linear linear = Linear::placed(one.placed);
      for (const int64_t stride : {rows + 1, rows + 4}) {
        ops_->begin({});
        float* own_x = ops_->buffer(Buffer::kNormed, std::ssize(x));
        float* y = ops_->buffer(Buffer::kUp, tokens * stride);
        ops_->write(own_x, x);
        ops_->write(y, std::vector<float>(static_cast<size_t>(tokens * stride), 7));
        ops_->set_input(InputSlot::kBranch, own_x, tokens, kCols);
        const std::vector<LinearOutput> outputs(3, {&linear, y, stride});
        ops_->run_linears(InputSlot::kBranch, outputs);
        std::vector<float> written(static_cast<size_t>(tokens * stride));
        ASSERT_TRUE(ops_->read(y, written).is_ok());
        std::vector<float> wanted(written.size(), 7);
        for (int64_t token = 0; token < tokens; ++token)
          std::copy_n(dense.begin() + token * rows, rows, wanted.begin() + token * stride);
        EXPECT_EQ(written, wanted) << one.name << " by " << stride;
      }
    }
  }
}

// Two tiles of tokens for many tiles of rows, and for few.
TEST_F(LinearRowsSm90Cuda, TilesOfTokensFetchWeightsTogether) {
  compare(8200, 192, {130});
  compare(1000, 512, {129, 256});
}

// What the tests above would not show: whether it is this kernel that gives it.
TEST_F(LinearRowsSm90Cuda, HopperTakesEveryType) {
  if (test_device()->info().generation != "sm_90") GTEST_SKIP() << "not a Hopper GPU";
  constexpr size_t kBytes = size_t{4} << 20;
  std::array<std::unique_ptr<DeviceBuffer>, 5> memory;
  for (std::unique_ptr<DeviceBuffer>& buffer : memory)
    buffer = *test_device()->allocate(kBytes);
  const cuda::Stream stream = static_cast<cuda::CudaDevice&>(*test_device()).stream();
  const auto floats = [&](size_t i) { return reinterpret_cast<float*>(memory[i]->data()); };
  using cuda::ElementType;
  for (const ElementType type :
       {ElementType::kF16, ElementType::kBF16, ElementType::kE4M3, ElementType::kInt8}) {
    const bool is_bytes = type == ElementType::kE4M3 || type == ElementType::kInt8;
    cuda::LinearParts parts{};
    parts.part[0] = {.weights = memory[0]->data(),
                     .stride = is_bytes ? 1024 : 2048,
                     .row_scales = floats(1),
                     .scale_spans = 1,
                     .block_scales = nullptr,
                     .block_spans = 0,
                     .bias = nullptr,
                     .y = floats(2),
                     .y_stride = 512,
                     .rows = 512};
    parts.count = 1;
    parts.cols = 1024;
    parts.scale = 1;
    const cuda::FloatInput x{type, memory[3]->data(), 1024, floats(4), 0, 256, {256, 256}};
    EXPECT_TRUE(cuda::linear_rows_sm90(type, parts, x, stream)) << static_cast<int>(type);
  }
  // The memory is given back only when all has run.
  std::array<std::byte, 1> one{};
  EXPECT_TRUE(test_device()->read(memory[2]->data(), one).is_ok());
}

}  // namespace
}  // namespace ingot
