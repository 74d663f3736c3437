// SPDX-License-Identifier: Apache-2.0
// The oracle's dense decoders as GGUF files: the same weights under GGUF's names, row orders and
// keys must give the same numbers. tools/make_gguf_oracle.py writes the files to build/gguf_oracle.
//
// F32 and F16 files hold the oracle's bf16 weights exactly (F16 while they are within its range, as
// these are), so the bound is that of model_oracle_test.cc: float32 sums in another order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "engine/solo.h"
#include "formats/safetensors.h"
#include "oracle_files.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;

constexpr double kLogitBound = 5e-4;

struct Case {
  fs::path file;
  fs::path folder;  // of the goldens
  std::string name() const {
    std::string text = file.stem().string();
    std::ranges::replace_if(
        text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
    return text;
  }
};

std::vector<Case> gguf_cases() {
  std::vector<Case> cases;
  const fs::path files = fs::path(INGOT_SOURCE_DIR) / "build/gguf_oracle";
  for (const fs::path& folder : testing::oracle_folders("models", "goldens.safetensors")) {
    for (const char* type : {"f32", "f16"}) {
      const fs::path file = files / fmt::format("{}-{}.gguf", folder.filename().string(), type);
      if (fs::exists(file)) cases.push_back({file, folder});
    }
  }
  return cases;
}

class GgufOracle : public ::testing::TestWithParam<Case> {};

TEST_P(GgufOracle, LogitsOfEveryPositionAgree) {
  const Json goldens = *read_json_file(GetParam().folder / "goldens.json");
  auto arrays = SafetensorsFile::open(GetParam().folder / "goldens.safetensors");
  ASSERT_TRUE(arrays.is_ok()) << arrays.status().message();
  std::map<std::string, std::vector<float>> values;
  for (const TensorEntry& entry : (*arrays)->tensors()) {
    std::vector<float>& floats = values[entry.name];
    floats.resize(*entry.tensor.shape.elements().value());
    dequantize(entry.tensor.layout, entry.tensor.bytes, floats);
  }
  auto checkpoint = Checkpoint::open(GetParam().file);
  ASSERT_TRUE(checkpoint.is_ok()) << checkpoint.status().message();
  auto model = Model::load(*checkpoint, {});
  ASSERT_TRUE(model.is_ok()) << model.status().message();
  auto solo = Solo::create(*model, {.context = 512});
  ASSERT_TRUE(solo.is_ok()) << solo.status().message();

  for (size_t p = 0; p < goldens["prompts"].size(); ++p) {
    const auto ids = goldens["prompts"][p]["ids"].get<std::vector<TokenId>>();
    const std::vector<float>& last = values.at(fmt::format("p{}.logits_last", p));
    const std::vector<float>& top_values = values.at(fmt::format("p{}.top_values", p));
    const std::vector<float>& top_ids = values.at(fmt::format("p{}.top_ids", p));
    const size_t top = top_ids.size() / ids.size();
    double worst = 0;
    const Status status = (*solo)->score(ids, [&](int64_t row, std::span<const float> logits) {
      const size_t first = static_cast<size_t>(row) * top;
      for (size_t i = first; i < first + top; ++i) {
        const float found = logits[static_cast<size_t>(top_ids[i])];
        worst = std::max(worst, std::fabs(static_cast<double>(found) - top_values[i]));
      }
      if (static_cast<size_t>(row) + 1 < ids.size()) return;
      for (size_t i = 0; i < last.size(); ++i)
        worst = std::max(worst, std::fabs(static_cast<double>(logits[i]) - last[i]));
    });
    ASSERT_TRUE(status.is_ok()) << status.message();
    EXPECT_LT(worst, kLogitBound) << "prompt " << p << " of " << ids.size() << " tokens";
  }
}

INSTANTIATE_TEST_SUITE_P(Dense, GgufOracle, ::testing::ValuesIn(gguf_cases()),
                         [](const ::testing::TestParamInfo<Case>& param) {
                           return param.param.name();
                         });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GgufOracle);

TEST(GgufOracleCoverage, NoConvertedModelIsLeftOut) {
  const size_t cases = gguf_cases().size();
  if (cases == 0) GTEST_SKIP() << "build/gguf_oracle is empty; run tools/make_gguf_oracle.py";
  if (testing::has_full_oracle()) {
    EXPECT_GE(cases, 2 * 38u);  // all dense decoders but OPT and dynamic rope, which GGUF lacks
  }
}

}  // namespace
}  // namespace ingot
