// SPDX-License-Identifier: Apache-2.0
#include "model/dtype.h"

#include <gtest/gtest.h>

#include "kernels/panel.h"

namespace ingot {
namespace {

TEST(Dtype, NamesAreThoseThatVllmKnowsAndTheirShortForms) {
  for (const char* name : {"half", "float16", "fp16", "f16"})
    EXPECT_EQ(*parse_dtype(name), ModelDtype::kHalf) << name;
  for (const char* name : {"bfloat16", "bf16"})
    EXPECT_EQ(*parse_dtype(name), ModelDtype::kBFloat16) << name;
  for (const char* name : {"float", "float32", "f32"})
    EXPECT_EQ(*parse_dtype(name), ModelDtype::kFloat) << name;
  EXPECT_EQ(*parse_dtype("auto"), ModelDtype::kAuto);
  const auto unknown = parse_dtype("int3");
  ASSERT_FALSE(unknown.is_ok());
  EXPECT_NE(unknown.status().message().find("bfloat16"), std::string::npos);
  EXPECT_EQ(to_string(ModelDtype::kBFloat16), "bfloat16");
}

TEST(Dtype, SmallModelsKeepTheirInputsUnlessTold) {
  EXPECT_EQ(dtype_for(ModelDtype::kAuto, 1 << 20), ModelDtype::kFloat);
  EXPECT_EQ(dtype_for(ModelDtype::kAuto, 1 << 30), ModelDtype::kAuto);
  EXPECT_EQ(dtype_for(ModelDtype::kBFloat16, 1 << 20), ModelDtype::kBFloat16);
}

TEST(Dtype, OnlyPlainFloatsAreCast) {
  EXPECT_EQ(cast_of(ModelDtype::kBFloat16, Layout::kF16), Layout::kBF16);
  EXPECT_EQ(cast_of(ModelDtype::kBFloat16, Layout::kF32), Layout::kBF16);
  EXPECT_EQ(cast_of(ModelDtype::kBFloat16, Layout::kBF16), std::nullopt);
  EXPECT_EQ(cast_of(ModelDtype::kHalf, Layout::kBF16), Layout::kF16);
  EXPECT_EQ(cast_of(ModelDtype::kHalf, Layout::kQ8_0), std::nullopt);
  EXPECT_EQ(cast_of(ModelDtype::kBFloat16, Layout::kQ4_K), std::nullopt);
  EXPECT_EQ(cast_of(ModelDtype::kFloat, Layout::kBF16), std::nullopt);
  EXPECT_EQ(cast_of(ModelDtype::kAuto, Layout::kF16), std::nullopt);
}

TEST(Dtype, OnlyLargeModelsOfWhichNothingWasSaidRoundCodes) {
  EXPECT_EQ(rounding_of(dtype_for(ModelDtype::kAuto, 1 << 30)), Rounding::kCodes);
  EXPECT_EQ(rounding_of(dtype_for(ModelDtype::kAuto, 1 << 20)), Rounding::kNothing);
  EXPECT_EQ(rounding_of(ModelDtype::kBFloat16), Rounding::kInputs);
  EXPECT_EQ(rounding_of(ModelDtype::kHalf), Rounding::kInputs);
}

TEST(Dtype, FloatNeverRoundsInputs) {
  const TargetSet all =
      TargetSet::scalar_only().with(Target::kAvx2).with(Target::kAvx512Bf16).with(Target::kAmx);
  const auto packing = [&](ModelDtype dtype, Layout layout) {
    return packing_of(layout, 256, all, rounding_of(dtype));
  };
  EXPECT_EQ(packing(ModelDtype::kAuto, Layout::kBF16), Packing::kBF16Pairs);
  EXPECT_EQ(packing(ModelDtype::kFloat, Layout::kBF16), Packing::kBF16);
  EXPECT_EQ(packing(ModelDtype::kAuto, Layout::kF16), Packing::kF16Words);
  EXPECT_EQ(packing(ModelDtype::kFloat, Layout::kF16), Packing::kF16);
  const TargetSet avx2 = TargetSet::scalar_only().with(Target::kAvx2);
  for (const Layout layout : {Layout::kF16, Layout::kBF16})
    EXPECT_EQ(packing_of(layout, 256, avx2, rounding_of(ModelDtype::kAuto)), Packing::kF16Words);
  EXPECT_EQ(packing_of(Layout::kBF16, 256, avx2, rounding_of(ModelDtype::kFloat)), Packing::kBF16);
}

}  // namespace
}  // namespace ingot
