// SPDX-License-Identifier: Apache-2.0
#include "calibrate/samples.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

TEST(Samples, JsonLinesGiveTheirTexts) {
  const auto documents = calibration_documents(
      "{\"text\": \"one\"}\n\n{\"prompt\": \"two \", \"completion\": \"three\"}\n"
      "{\"messages\": [{\"role\": \"user\", \"content\": \"four\"}]}\n\"five\"",
      "mix.jsonl");
  ASSERT_TRUE(documents.is_ok()) << documents.status().message();
  EXPECT_EQ(*documents, (std::vector<std::string>{"one", "two three", "four\n", "five"}));
}

TEST(Samples, ALineWithoutTextIsNamed) {
  const auto documents = calibration_documents("{\"text\": \"one\"}\n{\"other\": 1}", "mix.jsonl");
  ASSERT_FALSE(documents.is_ok());
  EXPECT_NE(documents.status().message().find("line 2"), std::string::npos);
  EXPECT_FALSE(calibration_documents("{\"text\": \"one\"", "mix.jsonl").is_ok());
}

TEST(Samples, AnyOtherFileIsOneText) {
  const auto documents = calibration_documents("{\"text\": 1}\nplain", "mix.txt");
  ASSERT_TRUE(documents.is_ok());
  EXPECT_EQ(documents->size(), 1U);
}

TEST(Samples, TheBuiltInTextIsThere) {
  EXPECT_GT(default_calibration_text().size(), 8000U);
  EXPECT_NE(default_calibration_text().find("lighthouse"), std::string_view::npos);
}

}  // namespace
}  // namespace ingot
