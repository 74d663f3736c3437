// SPDX-License-Identifier: Apache-2.0
// The oracle's dense decoders as GGUF files: the same weights under GGUF's names, row orders and
// keys must give the same numbers. tools/make_gguf_oracle.py writes the files to build/gguf_oracle.
//
// F32 and F16 files hold the oracle's bf16 weights exactly (F16 while they are within its range, as
// these are), so the bound is that of golden_logits.h: float32 sums in another order.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/solo.h"
#include "golden_logits.h"
#include "oracle_files.h"
#include "wanted_device.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;

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
  const auto goldens = testing::Goldens::open(GetParam().folder);
  ASSERT_TRUE(goldens.is_ok()) << goldens.status().message();
  auto checkpoint = Checkpoint::open(GetParam().file);
  ASSERT_TRUE(checkpoint.is_ok()) << checkpoint.status().message();
  ModelOptions options;
  options.threads = 1;
  place_as_wanted(options);
  auto model = Model::load(*checkpoint, options);
  ASSERT_TRUE(model.is_ok()) << model.status().message();
  auto solo = Solo::create(*model, {.threads = {.threads = 1}, .context = 512});
  ASSERT_TRUE(solo.is_ok()) << solo.status().message();

  for (size_t p = 0; p < goldens->prompts(); ++p) {
    const Result<double> worst = goldens->worst_difference(**solo, p);
    ASSERT_TRUE(worst.is_ok()) << worst.status().message();
    EXPECT_LT(*worst, testing::kLogitBound) << "prompt " << p;
  }
}

INSTANTIATE_TEST_SUITE_P(Dense, GgufOracle, ::testing::ValuesIn(gguf_cases()),
                         [](const ::testing::TestParamInfo<Case>& param) {
                           return param.param.name();
                         });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GgufOracle);

TEST(GgufOracleCoverage, NoConvertedModelIsLeftOut) {
  const size_t cases = gguf_cases().size();
  EXPECT_GE(cases, 8u) << "build/gguf_oracle is not made; run tools/make_gguf_oracle.py";
  if (testing::has_full_oracle()) {
    EXPECT_GE(cases, 2 * 38u);  // all dense decoders but OPT and dynamic rope, which GGUF lacks
  }
}

}  // namespace
}  // namespace ingot
