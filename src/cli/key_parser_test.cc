// SPDX-License-Identifier: Apache-2.0
#include "cli/key_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ingot {
namespace {

using testing::ElementsAre;

std::vector<KeyKind> kinds(const std::vector<Key>& keys) {
  std::vector<KeyKind> out;
  out.reserve(keys.size());
  for (const Key& key : keys)
    out.push_back(key.kind);
  return out;
}

TEST(KeyParser, KnowsArrowsHomeEndAndWordMoves) {
  KeyParser parser;
  EXPECT_THAT(kinds(parser.feed("\x1b[A\x1b[B\x1bOC\x1b[D\x1b[H\x1b[4~\x1b[3~\x1b[1;5D\x1b"
                                "f")),
              ElementsAre(KeyKind::kUp, KeyKind::kDown, KeyKind::kRight, KeyKind::kLeft,
                          KeyKind::kLineStart, KeyKind::kLineEnd, KeyKind::kDelete,
                          KeyKind::kWordLeft, KeyKind::kWordRight));
}

TEST(KeyParser, GivesTheSameKeysHoweverTheBytesArrive) {
  const std::string bytes = "h\u00e9\x1b[Ax\x1b[200~a\rb\x1b[201~\x03";
  KeyParser whole;
  const std::vector<Key> expected = whole.feed(bytes);
  KeyParser single;
  std::vector<Key> actual;
  for (const char c : bytes) {
    for (Key& key : single.feed({&c, 1})) {
      if (key.kind == KeyKind::kText && !actual.empty() && actual.back().kind == KeyKind::kText)
        actual.back().text += key.text;
      else
        actual.push_back(std::move(key));
    }
  }
  ASSERT_EQ(kinds(actual), kinds(expected));
  for (size_t i = 0; i < actual.size(); ++i)
    EXPECT_EQ(actual[i].text, expected[i].text);
}

TEST(KeyParser, APasteIsTextAndNeverACommand) {
  KeyParser parser;
  const std::vector<Key> keys = parser.feed("\x1b[200~one\r\ntwo\rthree\x03\x1b[201~");
  ASSERT_EQ(keys.size(), 1u);
  EXPECT_EQ(keys[0].kind, KeyKind::kPaste);
  EXPECT_EQ(keys[0].text, "one\ntwo\nthree\x03");
}

TEST(KeyParser, SurvivesBrokenSequencesAndInvalidBytes) {
  KeyParser parser;
  EXPECT_THAT(kinds(parser.feed("\x1b[1\r")), ElementsAre(KeyKind::kUnknown, KeyKind::kEnter));
  const std::vector<Key> keys = parser.feed("\xff!");
  ASSERT_FALSE(keys.empty());
  EXPECT_EQ(keys.back().text.back(), '!');
  EXPECT_THAT(kinds(parser.feed("\x1b[99;99z")), ElementsAre(KeyKind::kUnknown));
}

TEST(KeyParser, TellsEnterFromALineBreak) {
  KeyParser parser;
  EXPECT_THAT(kinds(parser.feed("\r\n\x1b\r")),
              ElementsAre(KeyKind::kEnter, KeyKind::kNewline, KeyKind::kNewline));
}

}  // namespace
}  // namespace ingot
