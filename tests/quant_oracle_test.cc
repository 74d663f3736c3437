// SPDX-License-Identifier: Apache-2.0
// Every quantized checkpoint of the oracle: its weights decode to the oracle's to the last bit, its
// logits agree, or it is refused with a word on what is missing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/solo.h"
#include "golden_logits.h"
#include "model/quant/quant_module.h"
#include "oracle_files.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;

// What cannot be loaded yet, and the word that says so.
const std::map<std::string, std::string> kRefused = {
    {"public-ct-nvfp4", "'nvfp4-pack-quantized'"},
    {"public-modelopt-nvfp4", "'NVFP4'"},
    {"public-gptoss-mxfp4", "'mxfp4'"},
};

struct Case {
  fs::path folder;
  std::string name() const {
    std::string text = folder.filename().string();
    std::ranges::replace(text, '-', '_');
    return text;
  }
};

std::vector<Case> quant_cases(bool is_refused) {
  std::vector<Case> cases;
  for (const fs::path& folder : testing::oracle_folders("models", "goldens.safetensors")) {
    const Result<Json> config = read_json_file(folder / "config.json");
    if (config.is_ok() && config->contains("quantization_config") &&
        kRefused.contains(folder.filename().string()) == is_refused)
      cases.push_back({folder});
  }
  return cases;
}

// float32 sums in another order where inputs stay floats (FP8, small models). The other kernels
// round their inputs to 8 bits, which the oracle does not: for that it asks for a few per cent of
// the logits' range.
double logit_bound(const QuantConfig& config, ModelDtype dtype, const std::vector<float>& logits) {
  if (config.method == QuantMethod::kFp8 && dtype == ModelDtype::kAuto) return testing::kLogitBound;
  const auto [least, most] = std::ranges::minmax(logits);
  return 0.03 * static_cast<double>(most - least);
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
  // Nested scales are a product and a sum, which may be fused: the last bit is free.
  const bool is_nested = GetParam().name().ends_with("double");
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
  for (const auto& [targets, dtype] :
       {Way{machine, ModelDtype::kAuto}, Way{machine, ModelDtype::kBFloat16},
        Way{TargetSet::scalar_only(), ModelDtype::kAuto}}) {
    ModelOptions options;
    options.threads = 1;
    options.targets = targets;
    options.dtype = dtype;
    auto model = Model::load(checkpoint_, options);
    ASSERT_TRUE(model.is_ok()) << model.status().message();
    auto solo = Solo::create(*model, {.threads = {.threads = 1}, .context = 512});
    ASSERT_TRUE(solo.is_ok()) << solo.status().message();
    for (size_t p = 0; p < goldens_->prompts(); ++p) {
      const Result<double> worst = goldens_->worst_difference(**solo, p);
      ASSERT_TRUE(worst.is_ok()) << worst.status().message();
      const std::vector<float>& logits = goldens_->arrays().at(fmt::format("p{}.logits_last", p));
      const double bound = logit_bound(config_, dtype, logits);
      RecordProperty(fmt::format("worst_{}", p), fmt::format("{:.3f}", *worst / bound));
      EXPECT_LT(*worst, bound) << "prompt " << p;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, QuantOracle, ::testing::ValuesIn(quant_cases(false)),
                         [](const ::testing::TestParamInfo<Case>& param) {
                           return param.param.name();
                         });

TEST(QuantOracleRefusals, WhatCannotBeLoadedIsNamed) {
  for (const Case& one : quant_cases(true)) {
    SCOPED_TRACE(one.name());
    const auto checkpoint = Checkpoint::open(one.folder);
    ASSERT_TRUE(checkpoint.is_ok());
    const auto config = HfConfig::open(one.folder / "config.json");
    ASSERT_TRUE(config.is_ok());
    const Status status = read_quant_config(*config).status();
    EXPECT_EQ(status.code(), StatusCode::kUnsupported);
    EXPECT_NE(status.message().find(kRefused.at(one.folder.filename().string())), std::string::npos)
        << status.message();
    EXPECT_FALSE(Model::load(*checkpoint, {}).is_ok());
  }
}

TEST(QuantOracleCoverage, NoFormatIsLeftOut) {
  EXPECT_GE(quant_cases(false).size(), testing::has_full_oracle() ? 19u : 2u);
}

}  // namespace
}  // namespace ingot
