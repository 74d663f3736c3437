// SPDX-License-Identifier: Apache-2.0
#include "cli/chat_input.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

TEST(MessageLines, ALineIsAMessage) {
  MessageLines lines;
  EXPECT_EQ(lines.add("hello"), "hello");
  EXPECT_FALSE(lines.is_open());
}

TEST(MessageLines, ABackslashGoesOn) {
  MessageLines lines;
  EXPECT_EQ(lines.add("one\\"), std::nullopt);
  EXPECT_TRUE(lines.is_open());
  EXPECT_EQ(lines.add("two\\"), std::nullopt);
  EXPECT_EQ(lines.add("three"), "one\ntwo\nthree");
  EXPECT_FALSE(lines.is_open());
}

TEST(MessageLines, QuotesKeepEverythingBetweenThem) {
  MessageLines lines;
  EXPECT_EQ(lines.add("\"\"\""), std::nullopt);
  EXPECT_EQ(lines.add("  /exit \\"), std::nullopt);
  EXPECT_EQ(lines.add(""), std::nullopt);
  EXPECT_EQ(lines.add("end\"\"\""), "  /exit \\\n\nend");
  EXPECT_EQ(lines.add("\"\"\"one line\"\"\""), "one line");
  EXPECT_EQ(lines.add("\"\"\"first"), std::nullopt);
  EXPECT_EQ(lines.add("\"\"\""), "first");
}

TEST(MessageLines, GivesWhatThereIsAtTheEndOfTheInput) {
  MessageLines lines;
  EXPECT_EQ(lines.finish(), std::nullopt);
  EXPECT_EQ(lines.add("open\\"), std::nullopt);
  EXPECT_EQ(lines.finish(), "open\n");
  EXPECT_EQ(lines.finish(), std::nullopt);
}

}  // namespace
}  // namespace ingot
