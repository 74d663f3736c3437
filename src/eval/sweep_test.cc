// SPDX-License-Identifier: Apache-2.0
#include "eval/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace ingot {
namespace {

using testing::ElementsAre;

std::filesystem::path folder() {
  return std::filesystem::path(testing::TempDir()) / "sweep_test";
}

SweepHooks hooks(std::vector<std::string>* seen) {
  std::filesystem::remove_all(folder());
  std::filesystem::create_directories(folder());
  SweepHooks made;
  made.quantize = [](const std::string& recipe) -> Result<std::filesystem::path> {
    if (recipe == "bad") return Status::unsupported("no such recipe");
    std::ofstream(folder() / recipe) << recipe;
    return folder() / recipe;
  };
  made.evaluate = [seen](const std::filesystem::path& path) -> Result<EvaluatedModel> {
    // One file at a time.
    EXPECT_TRUE(std::filesystem::exists(path));
    seen->push_back(path.filename());
    if (path.filename() == "stop") return Status::cancelled("stopped");
    if (path.filename() == "broken") return Status::internal("not finite");
    return EvaluatedModel{.name = "?", .bytes = 7};
  };
  return made;
}

TEST(Sweep, MeasuresInOrderAndLeavesNothingBehind) {
  std::vector<std::string> seen;
  const auto models = run_sweep({.recipes = {"q8", "bad", "broken", "q4"}}, hooks(&seen));
  ASSERT_TRUE(models.is_ok());
  EXPECT_THAT(seen, ElementsAre("q8", "broken", "q4"));
  ASSERT_EQ(models->size(), 4u);
  EXPECT_EQ((*models)[0].name, "q8");
  EXPECT_EQ((*models)[1].failure, "no such recipe");
  EXPECT_EQ((*models)[2].failure, "not finite");
  EXPECT_EQ((*models)[3].bytes, 7u);
  EXPECT_TRUE(std::filesystem::is_empty(folder()));
}

TEST(Sweep, StopsWhenToldAndStillCleansUp) {
  std::vector<std::string> seen;
  const auto models = run_sweep({.recipes = {"stop", "q4"}}, hooks(&seen));
  EXPECT_EQ(models.status().code(), StatusCode::kCancelled);
  EXPECT_THAT(seen, ElementsAre("stop"));
  EXPECT_TRUE(std::filesystem::is_empty(folder()));
}

TEST(Sweep, KeepsFilesWhenAsked) {
  std::vector<std::string> seen;
  ASSERT_TRUE(run_sweep({.recipes = {"q8"}, .keeps_files = true}, hooks(&seen)).is_ok());
  EXPECT_TRUE(std::filesystem::exists(folder() / "q8"));
}

TEST(Sweep, ReadsListsOfRecipes) {
  EXPECT_THAT(*parse_recipes("q8_0, q6_k,gptq4"), ElementsAre("q8_0", "q6_k", "gptq4"));
  EXPECT_FALSE(parse_recipes("").is_ok());
  EXPECT_FALSE(parse_recipes("q8_0,,q4").is_ok());
  EXPECT_FALSE(parse_recipes("q8_0,q8_0").is_ok());
}

}  // namespace
}  // namespace ingot
