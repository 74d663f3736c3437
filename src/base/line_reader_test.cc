// SPDX-License-Identifier: Apache-2.0
#include "base/line_reader.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace ingot {
namespace {

// "text" for a line, "!" for one that is too long.
std::vector<std::string> lines_of(const std::string& content, size_t most_bytes) {
  const std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) / "line_reader_test.txt";
  std::ofstream(path, std::ios::binary) << content;
  LineReader reader = LineReader::open(path, most_bytes).value();
  std::vector<std::string> lines;
  while (true) {
    const auto line = reader.next().value();
    if (!line) return lines;
    EXPECT_EQ(line->number, lines.size() + 1);
    lines.push_back(line->is_too_long ? "!" : line->text);
  }
}

using Lines = std::vector<std::string>;

TEST(LineReader, SplitsAtEveryKindOfLineEnd) {
  EXPECT_EQ(lines_of("", 10), Lines{});
  EXPECT_EQ(lines_of("a\nb\r\n\nc", 10), (Lines{"a", "b", "", "c"}));
  EXPECT_EQ(lines_of("a\n", 10), Lines{"a"});
  EXPECT_EQ(lines_of("\n\n", 10), (Lines{"", ""}));
}

TEST(LineReader, MarksLinesOverTheBoundAndGoesOn) {
  EXPECT_EQ(lines_of("12345\n123456\n1\n", 5), (Lines{"12345", "!", "1"}));
  EXPECT_EQ(lines_of("12345\r\nx", 5), (Lines{"12345", "x"}));
  const std::string huge(3'000'000, 'x');
  EXPECT_EQ(lines_of(huge + "\nok\n" + huge, 1000), (Lines{"!", "ok", "!"}));
  EXPECT_EQ(lines_of(huge + "\nok\n", huge.size()), (Lines{huge, "ok"}));
}

TEST(LineReader, RefusesWhatIsNoFile) {
  EXPECT_EQ(LineReader::open(testing::TempDir(), 10).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(LineReader::open("/nonexistent", 10).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace ingot
