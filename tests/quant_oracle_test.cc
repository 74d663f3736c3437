// SPDX-License-Identifier: Apache-2.0
// Every quantized checkpoint of the oracle: its weights decode to the oracle's to the last bit, its
// logits agree, or it is refused with a word on what is missing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/solo.h"
#include "golden_logits.h"
#include "model/quant/quant_module.h"
#include "oracle_files.h"
#include "wanted_device.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;

// Its format is read, its architecture is not there yet.
constexpr const char* kExperts = "public-gptoss-mxfp4";

struct Case {
  fs::path folder;
  std::string name() const {
    std::string text = folder.filename().string();
    std::ranges::replace(text, '-', '_');
    return text;
  }
};

std::vector<Case> quant_cases() {
  std::vector<Case> cases;
  for (const fs::path& folder : testing::oracle_folders("models", "goldens.safetensors")) {
    const Result<Json> config = read_json_file(folder / "config.json");
    if (config.is_ok() && config->contains("quantization_config") &&
        folder.filename().string() != kExperts)
      cases.push_back({folder});
  }
  return cases;
}

// float32 sums in another order where inputs stay floats (FP8 weights by inputs as they are, small
// models). The other kernels round their inputs to 8 bits, which the oracle does not: for that it
// asks for a few per cent of the logits' range.
//
// Where the format itself rounds inputs (W8A8, FP8), the oracle has a second run ("act.") that does
// the same, and ours is compared with that one. Both round at the same places, so positions agree
// to float32 until a value lies so near the middle of two codes that another order of sums tips it;
// from there on every position sees the other code through the attention. So the first positions
// must be exact (a wrong scale or rounding would leave none), and all within a few per cent.
constexpr double kRange = 0.03;
constexpr double kRoundedRange = 0.06;
constexpr size_t kFirstExact = 16;  // positions of all prompts together, of 7 + 33 + 130

double range_of(const std::vector<float>& logits) {
  const auto [least, most] = std::ranges::minmax(logits);
  return static_cast<double>(most - least);
}

class QuantOracle : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    auto goldens = testing::Goldens::open(GetParam().folder);
    ASSERT_TRUE(goldens.is_ok()) << goldens.status().message();
    goldens_ = *std::move(goldens);
    auto checkpoint = Checkpoint::open(GetParam().folder);
    ASSERT_TRUE(checkpoint.is_ok()) << checkpoint.status().message();
    checkpoint_ = *checkpoint;
    const auto config = HfConfig::open(GetParam().folder / "config.json");
    ASSERT_TRUE(config.is_ok());
    const auto quantization = read_quant_config(*config);
    ASSERT_TRUE(quantization.is_ok()) << quantization.status().message();
    config_ = *quantization;
  }

  std::vector<float> decoded(const std::string& name, int64_t rows, int64_t cols) {
    const QuantModule module("oracle", name,
                             [&](std::string_view suffix) -> Result<const TensorEntry*> {
                               return checkpoint_->find(name + std::string(suffix));
                             });
    const auto tensor = read_quant_weight(module, config_, cols);
    EXPECT_TRUE(tensor.is_ok() && tensor->has_value()) << tensor.status().message();
    EXPECT_TRUE((*tensor)->check().is_ok()) << (*tensor)->check().message();
    EXPECT_EQ((*tensor)->matrix_rows(), rows);
    std::vector<float> values(static_cast<size_t>(rows * cols));
    for (int64_t row = 0; row < rows; ++row)
      dequantize_row(
          **tensor, row,
          std::span(values).subspan(static_cast<size_t>(row * cols), static_cast<size_t>(cols)));
    return values;
  }

  std::optional<testing::Goldens> goldens_;
  std::shared_ptr<const Checkpoint> checkpoint_;
  QuantConfig config_;
};

TEST_P(QuantOracle, WeightsDecodeToTheOraclesBits) {
  // Nested scales are a product and a sum, which may be fused, those of NVFP4 a product or a
  // quotient: the last bit is free.
  const bool is_nested =
      GetParam().name().ends_with("double") || GetParam().name().ends_with("nvfp4");
  for (const auto& [name, facts] : goldens_->json()["dequant"].items()) {
    SCOPED_TRACE(name);
    const auto shape = facts["shape"].get<std::vector<int64_t>>();
    const std::vector<float> values = decoded(name, shape.at(0), shape.at(1));
    double sum = 0;
    double magnitude = 0;
    for (const float value : values) {
      sum += static_cast<double>(value);
      magnitude += static_cast<double>(std::fabs(value));
    }
    const double wanted = facts["abs_sum"].get<double>();
    EXPECT_NEAR(sum, facts["sum"].get<double>(), 1e-6 * wanted);
    EXPECT_NEAR(magnitude, wanted, 1e-6 * wanted);
    const auto expected = goldens_->arrays().find("dequant." + name);
    if (expected == goldens_->arrays().end()) continue;
    ASSERT_EQ(values.size(), expected->second.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const float slack = is_nested ? 1e-6F * std::fabs(values[i]) : 0;
      ASSERT_NEAR(values[i], expected->second[i], slack) << i;
    }
  }
}

TEST_P(QuantOracle, LogitsOfEveryPositionAgree) {
  struct Way {
    TargetSet targets;
    ModelDtype dtype;
  };
  const TargetSet machine = TargetSet::of_this_machine();
  const bool is_rounded = config_.input.rounds();
  const std::string run = is_rounded ? "act." : "";
  for (const auto& [targets, dtype] :
       {Way{machine, ModelDtype::kAuto}, Way{machine, ModelDtype::kBFloat16},
        Way{TargetSet::scalar_only(), ModelDtype::kAuto}}) {
    ModelOptions options;
    options.threads = 1;
    options.targets = targets;
    options.dtype = dtype;
    place_as_wanted(options);
    auto model = Model::load(checkpoint_, options);
    ASSERT_TRUE(model.is_ok()) << model.status().message();
    auto solo = Solo::create(*model, {.threads = {.threads = 1}, .context = 512});
    ASSERT_TRUE(solo.is_ok()) << solo.status().message();
    size_t exact = 0;
    for (size_t p = 0; p < goldens_->prompts(); ++p) {
      const auto found = goldens_->compare(**solo, p, run);
      ASSERT_TRUE(found.is_ok()) << found.status().message();
      const std::vector<float>& logits =
          goldens_->arrays().at(fmt::format("{}p{}.logits_last", run, p));
      const double bound = (is_rounded ? kRoundedRange : kRange) * range_of(logits);
      RecordProperty(fmt::format("worst_{}", p), fmt::format("{:.3f}", found->worst / bound));
      EXPECT_LT(found->worst, bound) << "prompt " << p;
      exact += found->first_exact;
    }
    // The head is in bf16 there.
    const bool has_exact = is_rounded && dtype == ModelDtype::kAuto;
    EXPECT_GE(exact, has_exact ? kFirstExact : 0u);
    RecordProperty("first_exact", static_cast<int>(exact));
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, QuantOracle, ::testing::ValuesIn(quant_cases()),
                         [](const ::testing::TestParamInfo<Case>& param) {
                           return param.param.name();
                         });

TEST(QuantOracleExperts, OfGptOssDecodeToTheOraclesBits) {
  for (const fs::path& folder : testing::oracle_folders("models", "goldens.safetensors")) {
    if (folder.filename().string() != kExperts) continue;
    const auto goldens = testing::Goldens::open(folder);
    ASSERT_TRUE(goldens.is_ok());
    const auto checkpoint = Checkpoint::open(folder);
    ASSERT_TRUE(checkpoint.is_ok());
    size_t compared = 0;
    for (const auto& [name, facts] : goldens->json()["dequant"].items()) {
      SCOPED_TRACE(name);
      const auto shape = facts["shape"].get<std::vector<int64_t>>();  // [experts, rows, cols]
      const size_t dot = name.rfind('.');
      const std::string module_name = name.substr(0, dot);
      const QuantModule module("oracle", module_name,
                               [&](std::string_view suffix) -> Result<const TensorEntry*> {
                                 return (*checkpoint)->find(module_name + std::string(suffix));
                               });
      const auto experts = read_mxfp4_experts(module, name.substr(dot), shape.at(2));
      ASSERT_TRUE(experts.is_ok()) << experts.status().message();
      ASSERT_EQ(experts->size(), static_cast<size_t>(shape[0]));
      std::vector<float> values(static_cast<size_t>(shape[0] * shape[1] * shape[2]));
      for (int64_t i = 0; i < shape[0] * shape[1]; ++i) {
        const QuantTensor& expert = (*experts)[static_cast<size_t>(i / shape[1])];
        ASSERT_EQ(expert.rows, shape[1]);
        dequantize_row(expert, i % shape[1],
                       std::span(values).subspan(static_cast<size_t>(i * shape[2]),
                                                 static_cast<size_t>(shape[2])));
      }
      double sum = 0;
      for (const float value : values)
        sum += static_cast<double>(std::fabs(value));
      EXPECT_NEAR(sum, facts["abs_sum"].get<double>(), 1e-6 * sum);
      const auto expected = goldens->arrays().find("dequant." + name);
      if (expected == goldens->arrays().end()) continue;
      EXPECT_EQ(values, expected->second);
      ++compared;
    }
    EXPECT_GE(compared, 1u);
    const Status status = Model::load(*checkpoint, {}).status();
    EXPECT_EQ(status.code(), StatusCode::kUnsupported);
    EXPECT_NE(status.message().find("'gpt_oss'"), std::string::npos) << status.message();
  }
}

TEST(QuantOracleCoverage, NoFormatIsLeftOut) {
  EXPECT_GE(quant_cases().size(), testing::has_full_oracle() ? 21u : 2u);
}

}  // namespace
}  // namespace ingot
