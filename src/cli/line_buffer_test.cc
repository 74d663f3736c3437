// SPDX-License-Identifier: Apache-2.0
#include "cli/line_buffer.h"

#include <gtest/gtest.h>

#include "cli/text_width.h"

namespace ingot {
namespace {

// The text with a bar where the cursor stands.
std::string shown(const LineBuffer& buffer) {
  std::string text = buffer.text();
  return text.insert(buffer.cursor(), "|");
}

LineBuffer typed(std::string_view text) {
  LineBuffer buffer;
  buffer.insert(text);
  return buffer;
}

TEST(LineBuffer, MovesByWhatAPersonCountsAsACharacter) {
  LineBuffer buffer = typed("ae\u0301\U0001F468\u200D\U0001F469\u200D\U0001F467");
  buffer.move_left();
  EXPECT_EQ(shown(buffer), "ae\u0301|\U0001F468\u200D\U0001F469\u200D\U0001F467");
  buffer.move_left();
  EXPECT_EQ(buffer.cursor(), 1u);
  buffer.erase_right();
  EXPECT_EQ(shown(buffer), "a|\U0001F468\u200D\U0001F469\u200D\U0001F467");
}

TEST(LineBuffer, StaysInsideTheText) {
  LineBuffer buffer;
  buffer.move_left();
  buffer.move_right();
  buffer.erase_left();
  buffer.erase_right();
  buffer.transpose();
  buffer.kill_to_line_end();
  buffer.kill_word_left();
  buffer.yank();
  EXPECT_FALSE(buffer.move_up());
  EXPECT_FALSE(buffer.move_down());
  EXPECT_EQ(shown(buffer), "|");
}

TEST(LineBuffer, KillsAndYanksWords) {
  LineBuffer buffer = typed("tell me a story");
  buffer.kill_word_left();
  EXPECT_EQ(shown(buffer), "tell me a |");
  buffer.move_word_left();
  buffer.move_word_left();
  EXPECT_EQ(shown(buffer), "tell |me a ");
  buffer.yank();
  EXPECT_EQ(shown(buffer), "tell story|me a ");
  buffer.move_to_line_start();
  buffer.kill_word_right();
  EXPECT_EQ(shown(buffer), "| storyme a ");
}

TEST(LineBuffer, KillsToBothEndsOfTheLineOnly) {
  LineBuffer buffer = typed("one\ntwo three\nfour");
  EXPECT_TRUE(buffer.move_up());
  EXPECT_EQ(shown(buffer), "one\ntwo |three\nfour");
  buffer.kill_to_line_end();
  EXPECT_EQ(shown(buffer), "one\ntwo |\nfour");
  buffer.kill_to_line_end();
  EXPECT_EQ(shown(buffer), "one\ntwo |four");
  buffer.kill_to_line_start();
  EXPECT_EQ(shown(buffer), "one\n|four");
}

TEST(LineBuffer, MovesBetweenLinesKeepingTheColumn) {
  LineBuffer buffer = typed("long first line\nab\nlast");
  EXPECT_TRUE(buffer.move_up());
  EXPECT_EQ(shown(buffer), "long first line\nab|\nlast");
  EXPECT_TRUE(buffer.move_up());
  EXPECT_EQ(shown(buffer), "lo|ng first line\nab\nlast");
  EXPECT_FALSE(buffer.move_up());
  EXPECT_TRUE(buffer.move_down());
  EXPECT_TRUE(buffer.move_down());
  EXPECT_FALSE(buffer.move_down());
}

TEST(LineBuffer, TransposesTheTwoCharactersAroundTheCursor) {
  LineBuffer buffer = typed("te\u0301h");
  buffer.transpose();
  EXPECT_EQ(shown(buffer), "the\u0301|");
}

TEST(LineBuffer, KeepsControlCharactersOut) {
  EXPECT_EQ(typed("a\x1b[31mb\x07\tc\r\nd").text(), "a[31mb\tc\nd");
  EXPECT_EQ(typed("\xff\xfe").text(), "\uFFFD\uFFFD");
}

TEST(TextWidth, CountsColumnsAsTerminalsDo) {
  EXPECT_EQ(text_columns("abc"), 3);
  EXPECT_EQ(text_columns("\u4F60\u597D"), 4);
  EXPECT_EQ(text_columns("e\u0301"), 1);
  EXPECT_EQ(text_columns("\t"), kTabColumns);
  EXPECT_EQ(text_columns("\U0001F600"), 2);
}

}  // namespace
}  // namespace ingot
