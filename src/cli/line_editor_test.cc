// SPDX-License-Identifier: Apache-2.0
#include "cli/line_editor.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

TEST(LineEditor, PutsTheCursorBehindThePrompt) {
  const ScreenText screen = layout_line("\x1b[1m>>> \x1b[0m", "", 0, 80);
  EXPECT_EQ(screen.cursor_column, 4);
  EXPECT_EQ(screen.rows, 0);
}

TEST(LineEditor, WrapsLongTextBeforeTheEdge) {
  const ScreenText screen = layout_line("> ", "abcdefgh", 8, 6);
  EXPECT_EQ(screen.bytes, "> abc\r\ndefgh");
  EXPECT_EQ(screen.cursor_row, 1);
  EXPECT_EQ(screen.cursor_column, 5);
  // A cursor in front of the first wrapped character stands on that character.
  const ScreenText middle = layout_line("> ", "abcdefgh", 3, 6);
  EXPECT_EQ(middle.cursor_row, 1);
  EXPECT_EQ(middle.cursor_column, 0);
}

TEST(LineEditor, IndentsTheLinesOfAMessage) {
  const ScreenText screen = layout_line("> ", "one\ntwo", 7, 80);
  EXPECT_EQ(screen.bytes, "> one\r\n  two");
  EXPECT_EQ(screen.cursor_row, 1);
  EXPECT_EQ(screen.cursor_column, 5);
}

TEST(LineEditor, KeepsWideCharactersWhole) {
  const ScreenText screen = layout_line("> ", "\u4F60\u4F60\u4F60", 9, 7);
  EXPECT_EQ(screen.bytes, "> \u4F60\u4F60\r\n\u4F60");
  EXPECT_EQ(screen.cursor_column, 2);
}

TEST(LineEditor, SurvivesATinyScreen) {
  for (int columns = 2; columns < 12; ++columns) {
    const ScreenText screen = layout_line("prompt> ", "some text\n\nmore", 15, columns);
    EXPECT_LT(screen.cursor_column, columns + 8);
    EXPECT_LE(screen.cursor_row, screen.rows);
  }
}

}  // namespace
}  // namespace ingot
