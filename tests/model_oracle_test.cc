// SPDX-License-Identifier: Apache-2.0
// Every dense decoder of the oracle, in both spellings of its config, against Hugging Face's
// numbers: logits within the bounds of golden_logits.h, greedy continuations equal.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/json.h"
#include "engine/solo.h"
#include "golden_logits.h"
#include "oracle_files.h"
#include "wanted_device.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;

constexpr double kMarginBound = 1e-3;  // a greedy choice closer than this may fall either way

// Families with experts, state-space mixers or encoders: they come with their own work. Everything
// else in the oracle must load and agree.
const std::set<std::string> kOtherKinds = {
    "bamba",       "deepseek_v2", "deepseek_v3",      "falcon_h1",   "glm4_moe",
    "gpt_oss",     "granitemoe",  "granitemoehybrid", "jamba",       "lfm2",
    "llama4_text", "mamba",       "mamba2",           "mixtral",     "olmoe",
    "qwen2_moe",   "qwen3_moe",   "qwen3_next",       "qwen3_5_text"};

struct Case {
  fs::path folder;
  std::string config;
  std::string name() const {
    std::string text = folder.filename().string() + (config == "config.json" ? "" : "_legacy");
    std::ranges::replace_if(
        text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
    return text;
  }
};

Json load_json(const fs::path& path) {
  return *read_json_file(path);
}

std::vector<Case> dense_cases() {
  std::vector<Case> cases;
  for (const fs::path& folder : testing::oracle_folders("models", "goldens.safetensors")) {
    const Json goldens = load_json(folder / "goldens.json");
    const Json config = load_json(folder / "config.json");
    if (goldens.value("kind", "") != "causal" ||
        kOtherKinds.contains(config.value("model_type", "")))
      continue;
    cases.push_back({folder, "config.json"});
    if (fs::exists(folder / "config_legacy.json")) cases.push_back({folder, "config_legacy.json"});
  }
  return cases;
}

class ModelOracle : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    // A folder with the wanted spelling as its config.json, everything else linked.
    folder_ = fs::temp_directory_path() /
              fs::path("ingot_oracle_" + GetParam().name() + "_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    for (const auto& entry : fs::directory_iterator(GetParam().folder)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("config")) continue;
      fs::create_symlink(fs::absolute(entry.path()), folder_ / name);
    }
    fs::create_symlink(fs::absolute(GetParam().folder / GetParam().config),
                       folder_ / "config.json");
    auto goldens = testing::Goldens::open(folder_);
    ASSERT_TRUE(goldens.is_ok()) << goldens.status().message();
    goldens_ = *std::move(goldens);
    load(ModelDtype::kAuto);  // these are small: float32, as the oracle
  }
  void load(ModelDtype dtype) {
    auto checkpoint = Checkpoint::open(folder_);
    ASSERT_TRUE(checkpoint.is_ok()) << checkpoint.status().message();
    ModelOptions options;
    options.threads = 1;  // invariance_test varies them
    options.dtype = dtype;
    place_as_wanted(options);
    auto model = Model::load(*checkpoint, options);
    ASSERT_TRUE(model.is_ok()) << model.status().message();
    auto solo = Solo::create(*model, {.threads = {.threads = 1}, .context = 512});
    ASSERT_TRUE(solo.is_ok()) << solo.status().message();
    solo_ = *std::move(solo);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
  std::optional<testing::Goldens> goldens_;
  std::unique_ptr<Solo> solo_;
};

TEST_P(ModelOracle, LogitsOfEveryPositionAgree) {
  for (size_t p = 0; p < goldens_->prompts(); ++p) {
    const Result<double> worst = goldens_->worst_difference(*solo_, p);
    ASSERT_TRUE(worst.is_ok()) << worst.status().message();
    EXPECT_LT(*worst, testing::kLogitBound) << "prompt " << p;
  }
}

// What a machine with dot products of bf16 does with larger checkpoints of bf16.
TEST_P(ModelOracle, InputsInBf16DriftNoFurtherThanTheOraclesOwnRunInBf16) {
  if (!TargetSet::of_this_machine().has(Target::kAvx512Bf16)) GTEST_SKIP() << "no BF16 here";
  load(ModelDtype::kBFloat16);
  for (size_t p = 0; p < goldens_->prompts(); ++p) {
    const Result<double> worst = goldens_->worst_difference(*solo_, p);
    ASSERT_TRUE(worst.is_ok()) << worst.status().message();
    EXPECT_LT(*worst, testing::bf16_bound(goldens_->json())) << "prompt " << p;
  }
}

TEST_P(ModelOracle, GreedyContinuationsAgree) {
  for (size_t p = 0; p < goldens_->prompts(); ++p) {
    const Json& prompt = goldens_->json()["prompts"][p];
    const auto expected = prompt["greedy"].get<std::vector<TokenId>>();
    const auto margins = prompt["greedy_margins"].get<std::vector<double>>();
    SoloRequest request;
    request.prompt = goldens_->ids(p);
    request.max_tokens = static_cast<int64_t>(expected.size());
    request.sampling.temperature = 0;
    // Past the trained length a dynamic rope turns old keys anew at every step; an engine that
    // keeps its keys cannot follow, and the oracle says so: only the prefill compares.
    const bool is_dynamic =
        goldens_->json().value("note", "").find("dynamic NTK") != std::string::npos;
    if (is_dynamic && request.prompt.size() > 64) continue;
    auto result = solo_->generate(request);
    ASSERT_TRUE(result.is_ok()) << result.status().message();
    for (size_t i = 0; i < expected.size(); ++i) {
      if (result->ids[i] == expected[i]) continue;
      EXPECT_LT(margins[i], kMarginBound) << "prompt " << p << ", token " << i;
      break;  // past a tie the texts differ legitimately
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Dense, ModelOracle, ::testing::ValuesIn(dense_cases()),
                         [](const ::testing::TestParamInfo<Case>& param) {
                           return param.param.name();
                         });

TEST(ModelOracleCoverage, NoDenseModelIsLeftOut) {
  const size_t cases = dense_cases().size();
  if (testing::has_full_oracle()) {
    EXPECT_GE(cases, 2 * 41u);  // 41 dense decoders, two spellings each
  } else {
    std::puts("note: ../shared/oracle is not here; only the committed models were run");
    EXPECT_GE(cases, 8u);
  }
}

}  // namespace
}  // namespace ingot
