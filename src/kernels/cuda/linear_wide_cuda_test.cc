// SPDX-License-Identifier: Apache-2.0
// Products of many tokens on the GPU, FP8 and W8A8 above all, against the processor's; and the
// promise that a batch does not change a row.
#include <gtest/gtest.h>

#include "kernels/cuda/cuda_device.h"
#include "kernels/cuda/test_codes.h"
#include "kernels/test_random.h"

namespace ingot {
namespace {

// Tensor cores of Hopper add products of e4m3 with 13 bits behind the largest: at most 2^-13 of it
// is lost with each, some 0.01 of the outputs' root mean square over rows as long as these.
constexpr double kFp8Limit = 0.02;
// Weights and inputs rounded to bf16.
constexpr double kBf16Limit = 0.03;
// Whole sums here; sums of 32 columns there, with scales of 16 bits.
constexpr double kInt8Limit = 1e-3;

class LinearWideCuda : public CodesOnGpu {
 protected:
  // For every number of tokens, against the processor's first rows.
  void compare(const Weights& weights, std::initializer_list<int64_t> counts, double limit) {
    const QuantTensor& tensor = weights.tensor;
    const int64_t most = std::max(counts);
    const std::vector<float> x = random_.normals(most * tensor.cols);
    const std::vector<float> wanted = expected(weights, x, most);
    const auto placed = place(weights);
    ASSERT_NE(placed, nullptr);
    for (const int64_t tokens : counts) {
      const std::vector<float> y = on_gpu(placed, first_rows(x, tokens, tensor.cols), tokens);
      EXPECT_LE(distance(y, first_rows(wanted, tokens, tensor.rows)), limit)
          << "[" << tensor.rows << ", " << tensor.cols << "] by " << tokens << ", inputs in blocks "
          << tensor.input.block << ", scale " << tensor.input.scale;
    }
  }

  Random random_{test_seed()};
};

struct WideCase {
  int64_t rows;
  int64_t cols;
};
std::string name_of_case(const ::testing::TestParamInfo<WideCase>& test) {
  return std::to_string(test.param.rows) + "_by_" + std::to_string(test.param.cols);
}

class LinearWideFp8Cuda : public LinearWideCuda, public ::testing::WithParamInterface<WideCase> {};

TEST_P(LinearWideFp8Cuda, GivesWhatTheProcessorGives) {
  const InputQuant of_tokens{.kind = InputKind::kE4m3};
  const InputQuant of_all{.kind = InputKind::kE4m3, .scale = 0.01F};
  const InputQuant of_blocks{.kind = InputKind::kE4m3, .block = 128};
  InputQuant of_wide_blocks = of_blocks;
  of_wide_blocks.block = 256;
  using enum Fp8Scales;
  const auto [rows, cols] = GetParam();
  for (const auto& [scales, input] :
       {std::pair{kTensor, of_all}, std::pair{kTensor, of_blocks}, std::pair{kRows, of_tokens},
        std::pair{kRows, of_all}, std::pair{kBlocks, of_blocks}, std::pair{kBlocks, of_tokens},
        std::pair{kBlocks, of_wide_blocks}}) {
    SCOPED_TRACE(static_cast<int>(scales));
    compare(fp8_weights(random_, rows, cols, scales, input), {1, 33, 80, 300, 513}, kFp8Limit);
  }
}

// Rows and columns that do not fill blocks of 128, and spans that are no multiple of four.
INSTANTIATE_TEST_SUITE_P(Shapes, LinearWideFp8Cuda,
                         ::testing::Values(WideCase{128, 640}, WideCase{272, 1152},
                                           WideCase{48, 576}),
                         name_of_case);

TEST_F(LinearWideCuda, Fp8ThatTheLibraryDoesNotTakeIsMultipliedAllTheSame) {
  const InputQuant of_tokens{.kind = InputKind::kE4m3};
  const InputQuant of_blocks{.kind = InputKind::kE4m3, .block = 128};
  using enum Fp8Scales;
  // Rows that are no multiple of 16; scales that differ within a block; inputs as they are.
  compare(fp8_weights(random_, 50, 192, kRows, of_tokens), {1, 40, 80, 300}, kBf16Limit);
  compare(fp8_weights(random_, 50, 192, kBlocks, of_blocks), {1, 40, 80, 300}, kBf16Limit);
  compare(fp8_weights(random_, 64, 256, kRows, of_blocks), {1, 40, 80, 300}, kBf16Limit);
  compare(fp8_weights(random_, 64, 256, kRows, {}), {80, 300}, kBf16Limit);
}

class LinearWideInt8Cuda : public LinearWideCuda, public ::testing::WithParamInterface<WideCase> {};

TEST_P(LinearWideInt8Cuda, GivesWhatTheProcessorGives) {
  const InputQuant of_tokens{.kind = InputKind::kInt8};
  const InputQuant of_all{.kind = InputKind::kInt8, .scale = 0.03F, .zero = 5};
  const InputQuant with_zeros{.kind = InputKind::kInt8, .is_symmetric = false};
  const auto [rows, cols] = GetParam();
  for (const InputQuant& input : {of_tokens, of_all, with_zeros})
    for (const CodeOrder order : {CodeOrder::kRowsSigned, CodeOrder::kRows})
      compare(int8_weights(random_, rows, cols, order, input), {1, 8, 9, 33, 80, 300}, kInt8Limit);
}

// 50 rows are never the library's.
INSTANTIATE_TEST_SUITE_P(Shapes, LinearWideInt8Cuda,
                         ::testing::Values(WideCase{64, 512}, WideCase{272, 1184},
                                           WideCase{50, 96}),
                         name_of_case);

// Few tokens and more by our kernels, many by the library: whole sums are the same.
TEST_F(LinearWideCuda, Int8HasTheSameBitsByAnyKernel) {
  constexpr int64_t kTokens = 300;
  const InputQuant input{.kind = InputKind::kInt8, .is_symmetric = false};
  for (const auto& [rows, cols] : {std::pair{64, 512}, std::pair{208, 4112}}) {
    const Weights weights = int8_weights(random_, rows, cols, CodeOrder::kRowsSigned, input);
    const auto placed = place(weights);
    ASSERT_NE(placed, nullptr);
    const std::vector<float> x = random_.normals(kTokens * cols);
    const std::vector<float> all = on_gpu(placed, x, kTokens);
    for (const int64_t tokens : {1, 9, 20, 50, 100, 200})
      EXPECT_EQ(on_gpu(placed, first_rows(x, tokens, cols), tokens), first_rows(all, tokens, rows))
          << "[" << rows << ", " << cols << "] by " << tokens;
  }
}

// What the tests above would not show: whether codes really are multiplied as they are.
TEST_F(LinearWideCuda, TheLibraryTakesCodesOnHopper) {
  if (test_device()->info().generation != "sm_90") GTEST_SKIP() << "not a Hopper GPU";
  const std::unique_ptr<cuda::MatMulLibrary> library = cuda::MatMulLibrary::open();
  if (library == nullptr) GTEST_SKIP() << "no cuBLASLt";
  constexpr size_t kBytes = size_t{4} << 20;
  std::array<std::unique_ptr<DeviceBuffer>, 6> memory;
  for (std::unique_ptr<DeviceBuffer>& buffer : memory)
    buffer = *test_device()->allocate(kBytes);
  const cuda::Stream stream = static_cast<cuda::CudaDevice&>(*test_device()).stream();
  using cuda::ElementType;
  using cuda::ProductScales;
  for (const auto& [type, scales] : {std::pair{ElementType::kE4M3, ProductScales::kOuter},
                                     std::pair{ElementType::kE4M3, ProductScales::kBlocks},
                                     std::pair{ElementType::kE4M3, ProductScales::kNone},
                                     std::pair{ElementType::kInt8, ProductScales::kNone}}) {
    for (const bool is_batch_invariant : {false, true}) {
      const cuda::MatMul product{.type = type,
                                 .weights = memory[0]->data(),
                                 .weight_stride = 1024,
                                 .x = memory[1]->data(),
                                 .x_stride = 1024,
                                 .y = memory[2]->data(),
                                 .y_stride = 512,
                                 .rows = 512,
                                 .cols = 1024,
                                 .tokens = 300,
                                 .tiles = {128, 128},
                                 .tail = memory[3]->data(),
                                 .scales = scales,
                                 .weight_scales = reinterpret_cast<const float*>(memory[4]->data()),
                                 .x_scales = reinterpret_cast<const float*>(memory[5]->data()),
                                 .is_batch_invariant = is_batch_invariant};
      EXPECT_TRUE(library->run(product, stream))
          << "type " << static_cast<int>(type) << ", scales " << static_cast<int>(scales);
    }
  }
  // The memory is given back only when all has run.
  std::array<std::byte, 1> one{};
  EXPECT_TRUE(test_device()->read(memory[2]->data(), one).is_ok());
}

TEST_F(LinearWideCuda, ABatchDoesNotChangeARow) {
  ops_->set_batch_invariant(true);
  constexpr int64_t kTokens = 200;
  constexpr int64_t kOutputs = 96;
  constexpr int64_t kInputs = 768;
  const auto compare_rows = [&](std::string_view name,
                                const std::shared_ptr<const DeviceWeight>& weight,
                                const std::vector<float>& wanted, const std::vector<float>& x) {
    const int64_t rows = weight->rows();
    const std::vector<float> all = on_gpu(weight, x, kTokens);
    EXPECT_LE(distance(all, wanted), 0.15) << name;
    for (int64_t first = 0, count = 0; first < kTokens; first += count) {
      // Alone, mostly; some groups that a tile begins or ends in.
      count = first == 100 ? 40 : first == 140 ? 9 : 1;
      const std::vector<float> own(x.begin() + first * kInputs,
                                   x.begin() + (first + count) * kInputs);
      const std::vector<float> same(all.begin() + first * rows,
                                    all.begin() + (first + count) * rows);
      ASSERT_EQ(on_gpu(weight, own, count), same) << name << ", row " << first;
    }
  };
  const std::vector<float> x = random_.normals(kTokens * kInputs);
  const std::vector<float> bias = random_.normals(kOutputs);
  for (const Layout layout :
       {Layout::kF32, Layout::kF16, Layout::kBF16, Layout::kQ4_K, Layout::kQ8_0}) {
    const std::vector<std::byte> bytes = random_.weights(layout, kOutputs * kInputs);
    const TensorView view{layout, Shape{kOutputs, kInputs}, bytes};
    WeightMemory memory;
    const Linear linear = *Linear::bind(view, bias, TargetSet::scalar_only(), memory, exec_);
    const auto placed = test_device()->place(view, bias, {}, exec_);
    ASSERT_TRUE(placed.is_ok()) << placed.status().message();
    compare_rows(info(layout).name, *placed, on_cpu(linear, x, kTokens), x);
  }
  const InputQuant of_tokens{.kind = InputKind::kE4m3};
  const InputQuant of_blocks{.kind = InputKind::kE4m3, .block = 128};
  const InputQuant of_int8{.kind = InputKind::kInt8};
  using enum Fp8Scales;
  for (const auto& [name, weights] :
       {std::pair{"fp8 by rows", fp8_weights(random_, kOutputs, kInputs, kRows, of_tokens)},
        std::pair{"fp8 by blocks", fp8_weights(random_, kOutputs, kInputs, kBlocks, of_blocks)},
        std::pair{"fp8 of odd rows", fp8_weights(random_, 50, kInputs, kBlocks, of_blocks)},
        std::pair{"fp8 weights alone", fp8_weights(random_, kOutputs, kInputs, kBlocks, {})},
        std::pair{"int8",
                  int8_weights(random_, kOutputs, kInputs, CodeOrder::kRowsSigned, of_int8)}}) {
    const auto placed = place(weights);
    ASSERT_NE(placed, nullptr);
    compare_rows(name, placed, expected(weights, x, kTokens), x);
  }
}

}  // namespace
}  // namespace ingot
