// SPDX-License-Identifier: Apache-2.0
#include "api/openai_field.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "engine/sampling_params.h"

namespace ingot {
namespace {

TEST(OpenAiFields, EveryNameStandsOnceForAnEndpoint) {
  for (const OpenAiEndpoint endpoint : {OpenAiEndpoint::kChat, OpenAiEndpoint::kCompletions}) {
    std::set<std::string_view> names;
    for (const OpenAiField& field : openai_fields()) {
      EXPECT_NE(field.endpoints, 0);
      if (!field.is_for(endpoint)) continue;
      EXPECT_TRUE(names.insert(field.name).second) << field.name;
    }
    EXPECT_GT(names.size(), 80U);
  }
}

// The table tells clients the ranges; validate() is what the engine holds to.
TEST(OpenAiFields, RangesOfSamplingParametersAreTheEngines) {
  size_t checked = 0;
  for (const OpenAiField& field : openai_fields()) {
    const ValueShape& shape = field.shape;
    const auto is_valid = [&](auto member, auto value) {
      SamplingParams params;
      params.*member = value;
      return validate(params).is_ok();
    };
    if (const auto* number = std::get_if<float SamplingParams::*>(&field.target)) {
      ASSERT_EQ(shape.type, ValueShape::Type::kNumber) << field.name;
      const auto low = static_cast<float>(shape.low);
      const auto high = static_cast<float>(shape.high);
      EXPECT_TRUE(is_valid(*number, low) && is_valid(*number, high)) << field.name;
      EXPECT_FALSE(is_valid(*number, std::nextafter(low, low - 1))) << field.name;
      EXPECT_FALSE(is_valid(*number, std::nextafter(high, high * 2 + 1))) << field.name;
      ++checked;
    }
    if (const auto* whole = std::get_if<int32_t SamplingParams::*>(&field.target)) {
      ASSERT_EQ(shape.type, ValueShape::Type::kInteger) << field.name;
      EXPECT_TRUE(is_valid(*whole, static_cast<int32_t>(shape.least))) << field.name;
      EXPECT_TRUE(is_valid(*whole, static_cast<int32_t>(shape.most))) << field.name;
      EXPECT_FALSE(is_valid(*whole, static_cast<int32_t>(shape.least - 1))) << field.name;
      ++checked;
    }
  }
  EXPECT_GT(checked, 20U);
}

}  // namespace
}  // namespace ingot
