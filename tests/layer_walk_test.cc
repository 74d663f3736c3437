// SPDX-License-Identifier: Apache-2.0
// Walking a model layer by layer gives what the whole model gives, bit for bit, and a tensor of the
// overlay takes the place of the checkpoint's.
#include "calibrate/layer_walk.h"

#include <gtest/gtest.h>

#include <random>

#include "engine/solo.h"
#include "oracle_files.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> supported_models() {
  std::vector<fs::path> folders;
  for (const fs::path& folder : testing::oracle_folders("models", "goldens.safetensors")) {
    const auto checkpoint = Checkpoint::open(folder);
    if (checkpoint.is_ok() && plan_model(**checkpoint).is_ok()) folders.push_back(folder);
  }
  return folders;
}

class Walk : public ::testing::TestWithParam<fs::path> {
 protected:
  void SetUp() override {
    const auto checkpoint = Checkpoint::open(GetParam());
    ASSERT_TRUE(checkpoint.is_ok());
    checkpoint_ = *checkpoint;
    const auto plan = plan_model(*checkpoint_);
    ASSERT_TRUE(plan.is_ok()) << plan.status().message();
    plan_ = *plan;
    std::mt19937 random(3);
    for (const size_t length : {17U, 5U, 40U}) {
      std::vector<TokenId>& sample = samples_.emplace_back(length);
      for (TokenId& id : sample)
        id = static_cast<TokenId>(random() % static_cast<uint64_t>(plan_.spec.vocab));
    }
  }

  LayerWalk walk() {
    return *LayerWalk::create(checkpoint_, plan_, samples_, {.threads = 2, .batch_tokens = 30});
  }

  std::shared_ptr<const Checkpoint> checkpoint_;
  ModelPlan plan_;
  std::vector<std::vector<TokenId>> samples_;
};

TEST_P(Walk, GivesTheLogitsOfTheWholeModel) {
  ModelOptions options;
  options.dtype = ModelDtype::kFloat;
  const auto model = Model::load(checkpoint_, options);
  if (!model.is_ok()) GTEST_SKIP() << model.status().message();
  auto solo = Solo::create(*model, SoloOptions());
  ASSERT_TRUE(solo.is_ok());
  std::vector<float> expected;
  for (const auto& sample : samples_) {
    ASSERT_TRUE((*solo)
                    ->score(sample,
                            [&](int64_t, std::span<const float> logits) {
                              expected.insert(expected.end(), logits.begin(), logits.end());
                            })
                    .is_ok());
  }
  LayerWalk layers = walk();
  std::vector<LinearInput> seen;
  while (layers.layer() < layers.layers()) {
    const auto visit = [&](LinearInput input, std::span<const float> x) {
      EXPECT_EQ(std::ssize(x) % layers.columns(input), 0);
      if (layers.layer() == 0) seen.push_back(input);
    };
    ASSERT_TRUE(layers.visit({}, LinearInput::kFfnInner, visit).is_ok());
    ASSERT_TRUE(layers.advance({}).is_ok());
  }
  EXPECT_EQ(seen.size(), 2 * kLinearInputs);  // two passes: 17 and 5 together, then 40
  std::vector<float> logits;
  ASSERT_TRUE(layers
                  .visit_logits({}, layers.hidden(),
                                [&](int64_t, std::span<const float> row) {
                                  logits.insert(logits.end(), row.begin(), row.end());
                                })
                  .is_ok());
  EXPECT_TRUE(logits == expected);
}

TEST_P(Walk, StopsWhereItIsToldAndStaysBeforeTheLayer) {
  LayerWalk layers = walk();
  const std::vector<float> before(layers.hidden().begin(), layers.hidden().end());
  int64_t rows = 0;
  ASSERT_TRUE(layers
                  .visit({}, LinearInput::kMixerIn,
                         [&](LinearInput input, std::span<const float> x) {
                           EXPECT_EQ(input, LinearInput::kMixerIn);
                           rows += std::ssize(x) / layers.columns(input);
                         })
                  .is_ok());
  EXPECT_EQ(rows, layers.tokens());
  EXPECT_TRUE(std::ranges::equal(before, layers.hidden()));
}

TEST_P(Walk, TheOverlayStandsInForTheCheckpoint) {
  const TensorPart& part = plan_.weights.layers[0].down.weight.parts.front();
  const TensorEntry* entry = nullptr;
  for (const std::string& name : plan_.weights.spellings(part.name))
    entry = entry != nullptr ? entry : checkpoint_->find(name);
  if (plan_.quantization.method != QuantMethod::kNone) GTEST_SKIP() << "quantized";
  ASSERT_NE(entry, nullptr);
  TensorOverlay overlay;
  overlay.set(part.name, entry->tensor.shape,
              std::vector<float>(entry->tensor.shape.elements().value_or(0)));
  LayerWalk changed = walk();
  LayerWalk plain = walk();
  ASSERT_TRUE(changed.advance(overlay).is_ok());
  ASSERT_TRUE(plain.advance({}).is_ok());
  EXPECT_FALSE(std::ranges::equal(plain.hidden(), changed.hidden()));
}

INSTANTIATE_TEST_SUITE_P(Oracle, Walk, ::testing::ValuesIn(supported_models()),
                         [](const auto& folder) {
                           std::string name = folder.param.filename().string();
                           std::ranges::replace_if(
                               name, [](char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace ingot
