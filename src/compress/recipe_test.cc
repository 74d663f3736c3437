// SPDX-License-Identifier: Apache-2.0
#include "compress/recipe.h"

#include <gtest/gtest.h>

#include <fstream>

namespace ingot {
namespace {

class Recipe : public ::testing::Test {
 protected:
  std::filesystem::path path_ = std::filesystem::path(::testing::TempDir()) / "recipe_test.json";
  void TearDown() override { std::filesystem::remove(path_); }
  void put(std::string_view text) { std::ofstream(path_) << text; }
};

TEST_F(Recipe, WhatIsWrittenIsReadBack) {
  SensitivityReport report;
  report.tensors = {
      {"blk.0.attn_q.weight", "q", 0, 0.1, {{Layout::kQ4_K, 144, 0.2}, {Layout::kQ8_0, 272, 0.01}}},
      {"output.weight", "o", -1, 0.1, {{Layout::kQ6_K, 210, 0.1}}}};
  Allocation allocation;
  allocation.chosen = {1, 0};
  ASSERT_TRUE(write_recipe(path_, {"m", "c", 4.5, 0.1, 0.2}, report, allocation).is_ok());
  const auto types = read_recipe(path_);
  ASSERT_TRUE(types.is_ok()) << types.status().message();
  EXPECT_EQ(*types, (RecipeTypes{{"blk.0.attn_q.weight", Layout::kQ8_0},
                                 {"output.weight", Layout::kQ6_K}}));
}

TEST_F(Recipe, WhatIsNoRecipeIsRefused) {
  for (const char* text :
       {"", "[]", "{}", R"({"ingot_recipe": 1})", R"({"ingot_recipe": 1, "tensors": {}})",
        R"({"ingot_recipe": 1, "tensors": {"a": "Q9_X"}})",
        R"({"ingot_recipe": 1, "tensors": {"a": 3}})",
        R"({"ingot_recipe": 1, "tensors": {"a": "I32"}})"}) {
    put(text);
    EXPECT_FALSE(read_recipe(path_).is_ok()) << text;
  }
}

TEST_F(Recipe, TheBudgetLeavesRoomForWhatIsNoMatrix) {
  SensitivityReport report;
  report.tensors = {{"a", "a", 0, 0, {{Layout::kQ4_K, 144 * 1000, 0}}}};
  GgufPlan gguf;
  MixTarget bits;
  bits.bits_per_weight = 4.0;
  EXPECT_EQ(matrix_budget(bits, gguf, report), 256U * 1000 / 2);
  MixTarget bytes;
  bytes.bytes = 100'000;
  EXPECT_LT(matrix_budget(bytes, gguf, report), 100'000U);
  EXPECT_GT(matrix_budget(bytes, gguf, report), 90'000U);
  bytes.bytes = 10;
  EXPECT_EQ(matrix_budget(bytes, gguf, report), 0U);
}

}  // namespace
}  // namespace ingot
