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

class LinearRowsSm90Cuda : public RowsOnGpu {};

struct TokensCase {
  int64_t rows;
  int64_t cols;
  std::vector<int64_t> tokens;
  RowKind kind;
};

class LinearRowsOfTokensSm90Cuda : public LinearRowsSm90Cuda,
                                   public ::testing::WithParamInterface<TokensCase> {};

TEST_P(LinearRowsOfTokensSm90Cuda, GivesWhatTheProcessorGives) {
  const auto& [rows, cols, counts, wanted_kind] = GetParam();
  const int64_t most = std::ranges::max(counts);
  const std::vector<float> x = random_.normals(most * cols);
  const Kind kind = make(wanted_kind, rows, cols);
  ASSERT_NE(kind.placed, nullptr);
  const std::vector<float> wanted = kind.expected(x, most);
  for (const int64_t tokens : counts)
    EXPECT_LE(distance(on_gpu(kind.placed, first_rows(x, tokens, cols), tokens, 3),
                       first_rows(wanted, tokens, rows)),
              kind.has_e4m3_inputs ? kE4m3Limit : kLimit)
        << "by " << tokens;
}

struct TokensShape {
  int64_t rows;
  int64_t cols;
  std::vector<int64_t> tokens;
};
auto of_all_kinds(const std::vector<TokensShape>& shapes) {
  std::vector<TokensCase> cases;
  for (const TokensShape& shape : shapes)
    for (const RowKind& kind : kRowKinds)
      cases.push_back({shape.rows, shape.cols, shape.tokens, kind});
  return ::testing::ValuesIn(cases);
}
std::string name_of_tokens(const ::testing::TestParamInfo<TokensCase>& test) {
  return name_of_case({{test.param.rows, test.param.cols, test.param.kind}, test.index});
}

INSTANTIATE_TEST_SUITE_P(AnyNumberOfTokens, LinearRowsOfTokensSm90Cuda,
                         of_all_kinds({{40, 512, {9, 16, 17, 32, 33, 64, 65, 100, 128, 129, 256}}}),
                         name_of_tokens);
// Columns that a cluster shares evenly and unevenly, and that fill no step.
INSTANTIATE_TEST_SUITE_P(AnyNumberOfColumns, LinearRowsOfTokensSm90Cuda,
                         of_all_kinds({{200, 192, {9, 65}},
                                       {130, 1088, {16, 33, 100}},
                                       {200, 4096, {17, 64, 129}},
                                       {40, 14336, {32, 256}}}),
                         name_of_tokens);
// So many tiles of rows that the columns are cut in four, in three, in two and not at all: blocks
// then fetch together.
INSTANTIATE_TEST_SUITE_P(AnyNumberOfRows, LinearRowsOfTokensSm90Cuda,
                         of_all_kinds({{1000, 4096, {9, 40}},
                                       {5003, 704, {17, 33}},
                                       {8200, 384, {9, 32}},
                                       {17003, 192, {16, 33, 70}}}),
                         name_of_tokens);
// Two tiles of tokens for many tiles of rows, and for few.
INSTANTIATE_TEST_SUITE_P(TilesThatFetchTogether, LinearRowsOfTokensSm90Cuda,
                         of_all_kinds({{8200, 192, {130}}, {1000, 512, {129, 256}}}),
                         name_of_tokens);

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
