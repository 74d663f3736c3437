// SPDX-License-Identifier: Apache-2.0
#include "kernels/target.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

TEST(TargetSet, AutoIsEverythingThisMachineHas) {
  EXPECT_EQ(TargetSet::parse("auto")->to_string(), TargetSet::of_this_machine().to_string());
}

TEST(TargetSet, ReferenceIsScalarAlone) {
  EXPECT_EQ(TargetSet::parse("reference")->to_string(), "scalar");
  EXPECT_EQ(TargetSet::parse("scalar")->to_string(), "scalar");
}

TEST(TargetSet, ANamedTargetBringsWhatItBuildsOn) {
  if (!TargetSet::of_this_machine().has(Target::kAvx2)) GTEST_SKIP() << "no AVX2 here";
  EXPECT_EQ(TargetSet::parse("avx2")->to_string(), "avx2 scalar");
  if (!TargetSet::of_this_machine().has(Target::kAvx512)) GTEST_SKIP() << "no AVX-512 here";
  EXPECT_EQ(TargetSet::parse("avx512")->to_string(), "avx512 avx2 scalar");
  if (!TargetSet::of_this_machine().has(Target::kAvx512Bf16)) GTEST_SKIP() << "no BF16 here";
  EXPECT_EQ(TargetSet::parse("avx512_bf16")->to_string(), "avx512_bf16 avx512 avx2 scalar");
}

TEST(TargetSet, ANamedArmTargetBringsWhatItBuildsOn) {
  if (!TargetSet::of_this_machine().has(Target::kNeon)) GTEST_SKIP() << "no NEON here";
  EXPECT_EQ(TargetSet::parse("neon")->to_string(), "neon scalar");
  if (!TargetSet::of_this_machine().has(Target::kNeonI8mm)) GTEST_SKIP() << "no i8mm here";
  EXPECT_EQ(TargetSet::parse("i8mm")->to_string(), "i8mm neon scalar");
}

TEST(TargetSet, RefusesUnknownNamesAndSaysWhatThereIs) {
  const auto result = TargetSet::parse("avx9");
  ASSERT_FALSE(result.is_ok());
  EXPECT_NE(result.status().message().find("scalar"), std::string::npos);
}

}  // namespace
}  // namespace ingot
