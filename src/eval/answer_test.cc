// SPDX-License-Identifier: Apache-2.0
#include "eval/answer.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

TEST(Answer, FindsTheNumberBehindTheMarks) {
  EXPECT_EQ(number_after_marks("so 9 * 2 = 18\n#### 18"), "18");
  EXPECT_EQ(number_after_marks("#### 70,000"), "70000");
  EXPECT_EQ(number_after_marks("#### $1,234.50."), "1234.5");
  EXPECT_EQ(number_after_marks("#### -3"), "-3");
  EXPECT_EQ(number_after_marks("#### -$5"), "-5");
  EXPECT_EQ(number_after_marks("#### 1\nbut no\n#### 2"), "2") << "the last marks count";
  EXPECT_EQ(number_after_marks("#### 12\nNext question: 13"), "12");
  EXPECT_EQ(number_after_marks("18"), std::nullopt);
  EXPECT_EQ(number_after_marks("#### none"), std::nullopt);
  EXPECT_EQ(number_after_marks("####"), std::nullopt);
}

TEST(Answer, FindsTheLastNumberOfAll) {
  EXPECT_EQ(last_number("There are 3 apples and 12 pears."), "12");
  EXPECT_EQ(last_number("It costs $1,234.50."), "1234.5");
  EXPECT_EQ(last_number("about 0.250"), "0.25");
  EXPECT_EQ(last_number(".5"), "0.5");
  EXPECT_EQ(last_number("-7 degrees"), "-7");
  EXPECT_EQ(last_number("5-3"), "3") << "a minus behind a digit is no sign";
  EXPECT_EQ(last_number("007"), "7");
  EXPECT_EQ(last_number("10.00"), "10");
  EXPECT_EQ(last_number("1, 2, 3"), "3");
  EXPECT_EQ(last_number("none"), std::nullopt);
  EXPECT_EQ(last_number(""), std::nullopt);
  EXPECT_EQ(last_number("-"), std::nullopt);
}

TEST(Answer, ComparesNumbersInOneSpelling) {
  AnswerItem item;
  item.expected = {"She has 5 * 2 = 10.\n#### 1,000"};
  item.extraction = Extraction::kNumber;
  EXPECT_TRUE(is_right_answer(item, "The answer is 1000."));
  EXPECT_TRUE(is_right_answer(item, "#### 1,000.00"));
  EXPECT_FALSE(is_right_answer(item, "The answer is 100."));
  EXPECT_FALSE(is_right_answer(item, "I do not know"));
  EXPECT_FALSE(is_strictly_right(item, "The answer is 1000.")) << "no marks";
  EXPECT_TRUE(is_strictly_right(item, "#### 1000"));
}

TEST(Answer, ComparesTextsAsAsked) {
  AnswerItem item;
  item.expected = {"Paris", "the city of Paris"};
  EXPECT_TRUE(is_right_answer(item, " Paris \n"));
  EXPECT_FALSE(is_right_answer(item, "paris"));
  item.ignores_case = true;
  EXPECT_TRUE(is_right_answer(item, "paris"));
  EXPECT_FALSE(is_right_answer(item, "Paris, of course"));
  item.is_contained = true;
  EXPECT_TRUE(is_right_answer(item, "It is Paris, of course"));
  EXPECT_FALSE(is_right_answer(item, "It is Rome"));
  item.is_contained = false;
  item.extraction = Extraction::kFirstLine;
  EXPECT_TRUE(is_right_answer(item, "\n Paris\nbecause"));
}

}  // namespace
}  // namespace ingot
