// SPDX-License-Identifier: Apache-2.0
// Attention over prompts: tiles that begin and end anywhere, Hopper's copies of pages, long
// prompts.
#include "kernels/cuda/test_attention.h"

namespace ingot {
namespace {

struct PromptCase {
  KvCacheType type;
  int64_t key_dim;
  int64_t value_dim;
};

class CudaAttentionOfPrompts : public CudaAttention,
                               public testing::WithParamInterface<PromptCase> {};

// Tiles of 128 positions that rows see all of, in part at either end, and not at all, wherever
// pages and windows begin. What was never written is NaN, and so is all of a page that is nobody's.
TEST_P(CudaAttentionOfPrompts, TilesMatchTheScalarKernelWhereverTheyBeginAndEnd) {
  Random random(test_seed());
  for (const int64_t page_tokens : {8, 16, 32, 64, 128}) {
    for (const int64_t window : {int64_t{0}, random.whole(100, 400)}) {
      const Options options{.type = GetParam().type,
                            .heads = 4,
                            .kv_heads = 2,
                            .key_dim = GetParam().key_dim,
                            .value_dim = GetParam().value_dim,
                            .page_tokens = page_tokens,
                            .page_gap = random.whole(0, 1) * 64,
                            .window = window};
      expect_scalar_result(random, options,
                           {{384, 384},
                            {random.whole(400, 700), random.whole(9, 300)},
                            {517, 130},
                            {3, 0},
                            {640, 128}});
    }
  }
}

std::vector<PromptCase> prompt_cases() {
  std::vector<PromptCase> cases;
  for (const KvCacheType type : {KvCacheType::kF16, KvCacheType::kBF16})
    for (const auto& [key_dim, value_dim] :
         {std::pair{64, 64}, std::pair{80, 80}, std::pair{96, 96}, std::pair{128, 128},
          std::pair{32, 32}, std::pair{40, 64}, std::pair{128, 40}, std::pair{72, 128}})
      cases.push_back({type, key_dim, value_dim});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Heads, CudaAttentionOfPrompts, testing::ValuesIn(prompt_cases()),
                         [](const auto& prompt) {
                           return fmt::format("{}_{}_{}", to_string(prompt.param.type),
                                              prompt.param.key_dim, prompt.param.value_dim);
                         });

// Else prompts would still be right, but slow.
TEST_F(CudaAttention, HoppersCopiesTakePagesOfAllSizes) {
  int major = 0;
  INGOT_CUDA_OK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  if (major < 9) GTEST_SKIP() << "a GPU without such copies";
  const DeviceMemory memory(4096);
  for (const int32_t page_tokens : {8, 16, 32, 64, 128}) {
    for (const int32_t dim : {32, 64, 80, 96, 128}) {
      const int32_t rows = 2 * page_tokens;
      CUtensorMap map{};
      EXPECT_TRUE(cuda::map_pages({memory.as<std::byte>(), dim, rows, int64_t{2} * rows * dim * 2},
                                  page_tokens, map))
          << page_tokens << " rows of " << dim;
    }
  }
}

// So many positions that most tiles have no row's largest logit any more.
TEST_F(CudaAttention, ALongPromptMatchesTheScalarKernel) {
  Random random(test_seed());
  for (const KvCacheType type : {KvCacheType::kF16, KvCacheType::kBF16}) {
    for (const int64_t dim : {64, 128}) {
      const Options options{
          .type = type, .heads = 2, .kv_heads = 1, .key_dim = dim, .value_dim = dim, .page_gap = 0};
      expect_scalar_result(random, options, {{6000, 200}});
    }
  }
}

}  // namespace
}  // namespace ingot
