// SPDX-License-Identifier: Apache-2.0
#include "quant/mixture.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "blocks/layout.h"
#include "quant/quantize_rows.h"

namespace ingot {
namespace {

TensorRole role_of(MatrixKind kind, int layer = 0, int64_t cols = 4096) {
  return {.kind = kind,
          .layer = layer,
          .layers = 32,
          .heads = 32,
          .kv_heads = 8,
          .rows = 4096,
          .cols = cols};
}

double bits(Layout layout) {
  return 8.0 * info(layout).block_bytes / info(layout).block_elements;
}

// A Llama 3 of 8 billion weights: 32 layers, 4096 wide, 14336 in the feed-forward network, eight
// heads of keys and values, a vocabulary of 128256, its own output.
double bits_per_weight(const Mixture& mixture, bool has_importance) {
  double all_bits = 0;
  double all_weights = 0;
  const auto add = [&](MatrixKind kind, int layer, int64_t rows, int64_t cols) {
    TensorRole role = role_of(kind, layer, cols);
    role.rows = rows;
    role.has_importance = has_importance;
    const double weights = static_cast<double>(rows * cols);
    all_weights += weights;
    all_bits += weights * bits(choose(mixture, role));
  };
  add(MatrixKind::kEmbedding, 0, 128256, 4096);
  add(MatrixKind::kOutput, 0, 128256, 4096);
  for (int layer = 0; layer < 32; ++layer) {
    add(MatrixKind::kAttentionQ, layer, 4096, 4096);
    add(MatrixKind::kAttentionK, layer, 1024, 4096);
    add(MatrixKind::kAttentionV, layer, 1024, 4096);
    add(MatrixKind::kAttentionOutput, layer, 4096, 4096);
    add(MatrixKind::kFfnGate, layer, 14336, 4096);
    add(MatrixKind::kFfnUp, layer, 14336, 4096);
    add(MatrixKind::kFfnDown, layer, 4096, 14336);
  }
  return all_bits / all_weights;
}

TEST(Mixture, StatesTheSizeThatItsRulesGive) {
  for (const Mixture& mixture : all_mixtures()) {
    EXPECT_NEAR(mixture.bits_per_weight, bits_per_weight(mixture, needs_importance(mixture)), 0.006)
        << mixture.name;
  }
}

TEST(Mixture, HasTheSizeOfTheFilesPeopleKnow) {
  // Files of Llama 3 8B by these names, in GiB, over its 8.03 billion weights.
  const auto known = [](std::string_view name, double gib) {
    const double expected = gib * 8 * 1024 * 1024 * 1024 / 8.03e9;
    EXPECT_NEAR(find_mixture(name)->bits_per_weight, expected, 0.05 * expected) << name;
  };
  known("Q2_K", 2.96);
  known("Q3_K_S", 3.41);
  known("Q3_K_M", 3.74);
  known("Q3_K_L", 4.03);
  known("Q4_0", 4.34);
  known("Q4_1", 4.78);
  known("Q4_K_S", 4.37);
  known("Q4_K_M", 4.58);
  known("Q5_0", 5.21);
  known("Q5_1", 5.65);
  known("Q5_K_S", 5.21);
  known("Q5_K_M", 5.33);
  known("Q6_K", 6.14);
  known("Q8_0", 7.96);
}

TEST(Mixture, NamesAndNumbersAreUnique) {
  std::set<std::string_view> names;
  std::set<uint32_t> numbers;
  for (const Mixture& mixture : all_mixtures()) {
    EXPECT_TRUE(names.insert(mixture.name).second) << mixture.name;
    EXPECT_TRUE(numbers.insert(mixture.file_type).second) << mixture.name;
    EXPECT_FALSE(mixture.description.empty()) << mixture.name;
  }
}

TEST(Mixture, GrowsFromOneToTheNext) {
  double last = 0;
  for (const Mixture& mixture : all_mixtures()) {
    EXPECT_GE(mixture.bits_per_weight, last) << mixture.name;
    last = mixture.bits_per_weight;
  }
}

TEST(Mixture, IsFoundInAnyCaseAndByItsShortName) {
  EXPECT_EQ(find_mixture("q4_k_m"), find_mixture("Q4_K_M"));
  EXPECT_EQ(find_mixture("Q4_K"), find_mixture("Q4_K_M"));
  EXPECT_EQ(find_mixture("q4_k_m")->file_type, 15u);
  EXPECT_EQ(find_mixture("mxfp4_moe")->file_type, 38u);
  EXPECT_EQ(find_mixture("Q9_Z"), nullptr);
  EXPECT_EQ(find_mixture(""), nullptr);
}

TEST(Mixture, KeepsNormsAndVectorsInF32) {
  for (const Mixture& mixture : all_mixtures()) {
    EXPECT_EQ(choose(mixture, role_of(MatrixKind::kKept)), Layout::kF32);
    TensorRole bias = role_of(MatrixKind::kOther);
    bias.dims = 1;
    EXPECT_EQ(choose(mixture, bias), Layout::kF32);
  }
}

TEST(Mixture, Q4KMGivesSixBitsToSensitiveLayers) {
  const Mixture& mixture = *find_mixture("Q4_K_M");
  for (const MatrixKind kind : {MatrixKind::kAttentionV, MatrixKind::kFfnDown}) {
    for (const int layer : {0, 3, 6, 9, 28, 31})
      EXPECT_EQ(choose(mixture, role_of(kind, layer)), Layout::kQ6_K) << layer;
    for (const int layer : {4, 5, 7, 8, 26})
      EXPECT_EQ(choose(mixture, role_of(kind, layer)), Layout::kQ4_K) << layer;
  }
  EXPECT_EQ(choose(mixture, role_of(MatrixKind::kAttentionQ)), Layout::kQ4_K);
  EXPECT_EQ(choose(mixture, role_of(MatrixKind::kOutput)), Layout::kQ6_K);
  EXPECT_EQ(choose(mixture, role_of(MatrixKind::kEmbedding)), Layout::kQ4_K);
}

TEST(Mixture, TreatsATiedEmbeddingAsTheOutput) {
  TensorRole tied = role_of(MatrixKind::kEmbedding);
  tied.is_tied = true;
  EXPECT_EQ(choose(*find_mixture("Q4_K_M"), tied), Layout::kQ6_K);
  EXPECT_EQ(choose(*find_mixture("IQ2_XS"), tied), Layout::kQ5_K);
  EXPECT_EQ(choose(*find_mixture("Q8_0"), tied), Layout::kQ8_0);
}

TEST(Mixture, FallsBackWhereColumnsDoNotFillBlocks) {
  const auto down = [](std::string_view name, int64_t cols) {
    return choose(*find_mixture(name), role_of(MatrixKind::kAttentionQ, 8, cols));
  };
  EXPECT_EQ(down("Q4_K_M", 96), Layout::kQ5_0);
  EXPECT_EQ(down("Q5_K_M", 96), Layout::kQ5_1);
  EXPECT_EQ(down("Q6_K", 96), Layout::kQ8_0);
  EXPECT_EQ(down("Q2_K", 96), Layout::kQ4_0);
  EXPECT_EQ(down("IQ3_S", 96), Layout::kIQ4_NL);
  EXPECT_EQ(down("NVFP4", 96), Layout::kIQ4_NL);
  EXPECT_EQ(down("Q4_K_M", 100), Layout::kF16);
  EXPECT_EQ(down("Q8_0", 100), Layout::kF16);
  EXPECT_EQ(choose(*find_mixture("Q4_K_M"), role_of(MatrixKind::kOutput, 0, 96)), Layout::kQ8_0);
  for (const Mixture& mixture : all_mixtures()) {
    for (const int64_t cols : {1, 32, 64, 96, 128, 320, 512}) {
      const Layout layout = choose(mixture, role_of(MatrixKind::kFfnDown, 0, cols));
      EXPECT_EQ(cols % static_cast<int64_t>(info(layout).block_elements), 0) << mixture.name;
    }
  }
}

TEST(Mixture, FourBitFloatsSpareWhatIsNotAnExpert) {
  TensorRole query = role_of(MatrixKind::kAttentionQ);
  EXPECT_EQ(choose(*find_mixture("MXFP4"), query), Layout::kMXFP4);
  query.experts = 32;
  EXPECT_EQ(choose(*find_mixture("MXFP4"), query), Layout::kQ8_0);
  TensorRole expert = role_of(MatrixKind::kFfnDown);
  expert.experts = 32;
  expert.is_expert = true;
  EXPECT_EQ(choose(*find_mixture("MXFP4"), expert), Layout::kMXFP4);
}

TEST(Mixture, WantsImportanceWhereBitsAreFew) {
  for (const std::string_view name : {"IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_M", "IQ3_XXS", "Q2_K_S"})
    EXPECT_TRUE(needs_importance(*find_mixture(name))) << name;
  for (const std::string_view name : {"Q2_K", "Q3_K_S", "Q4_K_M", "IQ4_XS", "Q8_0", "F16"})
    EXPECT_FALSE(needs_importance(*find_mixture(name))) << name;
}

TEST(NamedTensor, KnowsTheNamesOfGguf) {
  const auto expect = [](std::string_view name, MatrixKind kind, std::optional<int> layer,
                         bool is_expert) {
    const NamedTensor found = named_tensor(name);
    EXPECT_EQ(found.kind, kind) << name;
    EXPECT_EQ(found.layer, layer) << name;
    EXPECT_EQ(found.is_expert, is_expert) << name;
  };
  expect("token_embd.weight", MatrixKind::kEmbedding, std::nullopt, false);
  expect("output.weight", MatrixKind::kOutput, std::nullopt, false);
  expect("output_norm.weight", MatrixKind::kKept, std::nullopt, false);
  expect("blk.0.attn_q.weight", MatrixKind::kAttentionQ, 0, false);
  expect("blk.0.attn_q.bias", MatrixKind::kKept, 0, false);
  expect("blk.0.attn_q_norm.weight", MatrixKind::kKept, 0, false);
  expect("blk.11.attn_output.weight", MatrixKind::kAttentionOutput, 11, false);
  expect("blk.11.attn_qkv.weight", MatrixKind::kAttentionQkv, 11, false);
  expect("blk.3.ffn_down_exps.weight", MatrixKind::kFfnDown, 3, true);
  expect("blk.3.ffn_gate_inp.weight", MatrixKind::kKept, 3, false);
  expect("blk.3.ssm_in.weight", MatrixKind::kOther, 3, false);
  expect("blk.x.ffn_up.weight", MatrixKind::kFfnUp, std::nullopt, false);
  expect("", MatrixKind::kKept, std::nullopt, false);
}

}  // namespace
}  // namespace ingot
