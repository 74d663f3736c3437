// SPDX-License-Identifier: Apache-2.0
// Every dense decoder of the oracle, converted to GGUF: its logits stay the oracle's, and converted
// back its tensors are the original's, bit for bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "convert/cast_model.h"
#include "convert/gguf_arch.h"
#include "engine/solo.h"
#include "golden_logits.h"
#include "oracle_files.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;

struct Case {
  fs::path folder;
  std::string name() const {
    std::string text = folder.filename().string();
    std::ranges::replace_if(
        text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
    return text;
  }
};

std::vector<Case> dense_cases() {
  std::vector<Case> cases;
  for (const fs::path& folder : testing::oracle_folders("models", "goldens.safetensors")) {
    const Json goldens = *read_json_file(folder / "goldens.json");
    if (goldens.value("kind", "") != "causal") continue;
    const auto checkpoint = Checkpoint::open(folder);
    if (!checkpoint.is_ok()) continue;
    const auto plan = plan_model(**checkpoint);
    if (!plan.is_ok() || find_gguf_arch(plan->spec.architecture) == nullptr) continue;
    // GGUF has no key for a rope that grows with the text.
    if (!plan->spec.ropes.empty() && plan->spec.ropes[0].scaling == RopeScaling::kDynamic) continue;
    cases.push_back({folder});
  }
  return cases;
}

class ConvertOracle : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() /
              fmt::format("ingot_convert_{}_{}", GetParam().name(), ::getpid());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::shared_ptr<const Checkpoint> open(const fs::path& path) {
    auto checkpoint = Checkpoint::open(path);
    EXPECT_TRUE(checkpoint.is_ok()) << checkpoint.status().message();
    return checkpoint.is_ok() ? *checkpoint : nullptr;
  }

  Status to_gguf(const fs::path& from, const fs::path& to) {
    INGOT_TRY(GgufPlan plan, plan_gguf(open(from)));
    const CastChoice choice = choose_casts(plan.tensors, std::nullopt, true);
    INGOT_TRY(auto writer, create_gguf(to, plan.values, choice.tensors, {}));
    INGOT_TRY(write_tensors(plan.tensors, choice, *writer, nullptr));
    return writer->commit();
  }

  fs::path folder_;
};

TEST_P(ConvertOracle, LogitsOfTheGgufFileAreTheOracles) {
  const Status status = to_gguf(GetParam().folder, folder_ / "m.gguf");
  ASSERT_TRUE(status.is_ok()) << status.message();
  const auto goldens = testing::Goldens::open(GetParam().folder);
  ASSERT_TRUE(goldens.is_ok()) << goldens.status().message();
  ModelOptions options;
  options.threads = 1;
  auto model = Model::load(open(folder_ / "m.gguf"), options);
  ASSERT_TRUE(model.is_ok()) << model.status().message();
  auto solo = Solo::create(*model, {.threads = {.threads = 1}, .context = 512});
  ASSERT_TRUE(solo.is_ok()) << solo.status().message();
  for (size_t p = 0; p < goldens->prompts(); ++p) {
    const Result<double> worst = goldens->worst_difference(**solo, p);
    ASSERT_TRUE(worst.is_ok()) << worst.status().message();
    EXPECT_LT(*worst, testing::kLogitBound) << "prompt " << p;
  }
}

// Norms that GGUF stores plus one are the original's but for what float32 keeps of tiny ones.
TEST_P(ConvertOracle, ThereAndBackAgainTheTensorsAreTheSame) {
  ASSERT_TRUE(to_gguf(GetParam().folder, folder_ / "m.gguf").is_ok());
  auto plan = plan_safetensors(open(folder_ / "m.gguf"));
  ASSERT_TRUE(plan.is_ok()) << plan.status().message();
  const CastChoice choice = choose_casts(plan->tensors, std::nullopt, false);
  auto writer =
      create_safetensors(folder_ / "back", plan->metadata, choice.tensors, plan->files, {});
  ASSERT_TRUE(writer.is_ok()) << writer.status().message();
  const Status written = write_tensors(plan->tensors, choice, **writer, nullptr);
  ASSERT_TRUE(written.is_ok()) << written.message();
  ASSERT_TRUE((*writer)->commit().is_ok());

  const auto original = open(GetParam().folder);
  const auto back = open(folder_ / "back");
  const auto model = plan_model(*original);
  const auto names = model->weights;
  size_t compared = 0;
  for (const TensorEntry* entry : back->tensors()) {
    const TensorEntry* wanted = nullptr;
    for (const std::string& spelling : names.spellings(entry->name)) {
      if (wanted == nullptr) wanted = original->find(spelling);
    }
    ASSERT_NE(wanted, nullptr) << entry->name;
    EXPECT_EQ(entry->tensor.shape, wanted->tensor.shape) << entry->name;
    EXPECT_EQ(entry->tensor.layout, wanted->tensor.layout) << entry->name;
    EXPECT_TRUE(std::ranges::equal(entry->tensor.bytes, wanted->tensor.bytes)) << entry->name;
    ++compared;
  }
  EXPECT_GT(compared, 0u);
  // And the model that was written is the one that was read.
  const auto again = plan_model(*back);
  ASSERT_TRUE(again.is_ok()) << again.status().message();
}

INSTANTIATE_TEST_SUITE_P(Dense, ConvertOracle, ::testing::ValuesIn(dense_cases()),
                         [](const ::testing::TestParamInfo<Case>& param) {
                           return param.param.name();
                         });

TEST(ConvertOracleCoverage, NoDenseModelIsLeftOut) {
  const size_t cases = dense_cases().size();
  EXPECT_GE(cases, 6u);
  if (testing::has_full_oracle()) {
    EXPECT_GE(cases, 39u);  // all but OPT and dynamic rope, which GGUF lacks
  }
}

}  // namespace
}  // namespace ingot
