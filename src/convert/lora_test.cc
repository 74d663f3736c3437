// SPDX-License-Identifier: Apache-2.0
#include "convert/lora.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "formats/gguf_writer.h"
#include "formats/safetensors.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class LoraTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / fmt::format("ingot-lora-{}", ::getpid());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // Rank 2, from 3 to 4.
  void write(const std::string& config, const std::string& extra = "") {
    std::ofstream(folder_ / "adapter_config.json") << config;
    const std::string name = "base_model.model.model.layers.0.self_attn.q_proj";
    std::vector<TensorEntry> tensors = {
        {name + ".lora_A.weight", {Layout::kF32, Shape{2, 3}, std::as_bytes(std::span(a_))}},
        {name + ".lora_B.weight", {Layout::kF32, Shape{4, 2}, std::as_bytes(std::span(b_))}}};
    if (!extra.empty())
      tensors.push_back({extra, {Layout::kF32, Shape{2, 3}, std::as_bytes(std::span(a_))}});
    ASSERT_TRUE(write_safetensors(folder_ / "adapter_model.safetensors", tensors, {}).is_ok());
  }
  std::string failure() { return LoraAdapter::open(folder_, 1).status().message(); }

  fs::path folder_;
  const std::vector<float> a_ = {1, 2, 3, 4, 5, 6};
  const std::vector<float> b_ = {1, 0, 0, 1, 1, 1, 2, -1};
};

constexpr const char* kModule = "model.layers.0.self_attn.q_proj";

TEST_F(LoraTest, AddsAlphaOverRankTimesTheProduct) {
  write(R"({"peft_type": "LORA", "r": 2, "lora_alpha": 8})");
  const auto adapter = LoraAdapter::open(folder_, 0.5);
  ASSERT_TRUE(adapter.is_ok()) << adapter.status().message();
  EXPECT_TRUE((*adapter)->has(kModule));
  std::vector<float> row = {100, 100, 100};
  ASSERT_TRUE((*adapter)->add(kModule, 3, row).is_ok());  // 2 a0 - a1, times 4 * 0.5
  EXPECT_EQ(row, (std::vector<float>{96, 98, 100}));
  ASSERT_TRUE((*adapter)->add("other", 3, row).is_ok());
  EXPECT_EQ(row[0], 96);
  EXPECT_FALSE((*adapter)->add(kModule, 4, row).is_ok());
}

TEST_F(LoraTest, ReadsRankStabilizedScalesAndPatterns) {
  write(R"({"r": 4, "lora_alpha": 8, "use_rslora": true, "alpha_pattern": {"q_proj": 2}})");
  const auto adapter = LoraAdapter::open(folder_, 1);
  std::vector<float> row = {0, 0, 0};
  ASSERT_TRUE((*adapter)->add(kModule, 0, row).is_ok());
  EXPECT_EQ(row, (std::vector<float>{1, 2, 3}));  // 2 / sqrt(4)
}

TEST_F(LoraTest, ReadsGgufAdapters) {
  GgufWriter writer;
  writer.set("general.type", "adapter");
  writer.set("adapter.type", "lora");
  writer.set("adapter.lora.alpha", 4.0F);
  writer.add("blk.0.attn_q.weight.lora_a",
             {Layout::kF32, Shape{2, 3}, std::as_bytes(std::span(a_))});
  writer.add("blk.0.attn_q.weight.lora_b",
             {Layout::kF32, Shape{4, 2}, std::as_bytes(std::span(b_))});
  ASSERT_TRUE(writer.write(folder_ / "a.gguf").is_ok());
  const auto adapter = LoraAdapter::open(folder_ / "a.gguf", 1);
  ASSERT_TRUE(adapter.is_ok()) << adapter.status().message();
  std::vector<float> row = {0, 0, 0};
  ASSERT_TRUE((*adapter)->add("blk.0.attn_q", 1, row).is_ok());
  EXPECT_EQ(row, (std::vector<float>{8, 10, 12}));
}

TEST_F(LoraTest, RefusesWhatIsNoPlainLora) {
  write(R"({"r": 2, "lora_alpha": 8, "use_dora": true})");
  EXPECT_THAT(failure(), HasSubstr("DoRA"));
  write(R"({"peft_type": "IA3", "r": 2, "lora_alpha": 8})");
  EXPECT_THAT(failure(), HasSubstr("not the configuration of a LoRA"));
  write(R"({"r": 0, "lora_alpha": 8})");
  EXPECT_THAT(failure(), HasSubstr("'r' must be a positive number"));
  write(R"({"r": 2, "lora_alpha": 8})", "base_model.model.lm_head.weight");
  EXPECT_THAT(failure(), HasSubstr("neither lora_A nor lora_B"));
  write(R"({"r": 2, "lora_alpha": 8})", "base_model.model.x.lora_A.weight");
  EXPECT_THAT(failure(), HasSubstr("x.lora_B.weight"));
}

}  // namespace
}  // namespace ingot
