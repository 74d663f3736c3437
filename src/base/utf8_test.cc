// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <gtest/gtest.h>

#include <random>

namespace ingot {
namespace {

const std::string kMark = "\xEF\xBF\xBD";  // U+FFFD

bool is_surrogate(char32_t code_point) {
  return code_point >= 0xD800 && code_point <= 0xDFFF;
}

TEST(Utf8, EveryCodePointSurvivesTheRoundTrip) {
  std::string text;
  for (char32_t code_point = 0; code_point <= 0x10FFFF; ++code_point) {
    if (is_surrogate(code_point)) continue;
    text.clear();
    utf8::append(text, code_point);
    const utf8::Decoded decoded = utf8::decode(text);
    ASSERT_TRUE(decoded.is_valid) << static_cast<uint32_t>(code_point);
    ASSERT_EQ(decoded.code_point, code_point);
    ASSERT_EQ(decoded.size, text.size());
    ASSERT_EQ(utf8::count(text), 1u);
    ASSERT_EQ(utf8::unfinished_suffix(text), 0u);
    // Cut anywhere, it is unfinished by just that many bytes.
    for (size_t kept = 1; kept < text.size(); ++kept) {
      ASSERT_EQ(utf8::unfinished_suffix(std::string_view(text).substr(0, kept)), kept);
      ASSERT_FALSE(utf8::is_valid(std::string_view(text).substr(0, kept)));
    }
  }
}

TEST(Utf8, AppendReplacesWhatIsNoCharacter) {
  for (const char32_t code_point :
       {char32_t{0xD800}, char32_t{0xDFFF}, char32_t{0x110000}, char32_t{0xFFFFFFFF}}) {
    std::string text = "a";
    utf8::append(text, code_point);
    EXPECT_EQ(text, "a" + kMark);
  }
}

TEST(Utf8, RefusesOverlongFormsSurrogatesAndTooLarge) {
  EXPECT_FALSE(utf8::is_valid("\xC0\x80"));          // overlong U+0000
  EXPECT_FALSE(utf8::is_valid("\xC1\xBF"));          // overlong U+007F
  EXPECT_FALSE(utf8::is_valid("\xE0\x9F\xBF"));      // overlong U+07FF
  EXPECT_FALSE(utf8::is_valid("\xF0\x8F\xBF\xBF"));  // overlong U+FFFF
  EXPECT_FALSE(utf8::is_valid("\xED\xA0\x80"));      // U+D800
  EXPECT_FALSE(utf8::is_valid("\xED\xBF\xBF"));      // U+DFFF
  EXPECT_FALSE(utf8::is_valid("\xF4\x90\x80\x80"));  // U+110000
  EXPECT_FALSE(utf8::is_valid("\xF5\x80\x80\x80"));
  EXPECT_FALSE(utf8::is_valid("\xFF"));
  EXPECT_FALSE(utf8::is_valid("\x80"));
  EXPECT_TRUE(utf8::is_valid("\xED\x9F\xBF\xEE\x80\x80\xF4\x8F\xBF\xBF"));  // their neighbours
  EXPECT_TRUE(utf8::is_valid(""));
  EXPECT_TRUE(utf8::is_valid(std::string_view("a\0b", 3)));
}

// The table of the Unicode Standard on "maximal subparts", and what Python's "replace" does.
TEST(Utf8, ReplacesEachMaximalSubpartOnce) {
  EXPECT_EQ(utf8::replace_invalid("\xF0\x9F\x98"), kMark);
  EXPECT_EQ(utf8::replace_invalid("\xF0\x9F\x98z"), kMark + "z");
  EXPECT_EQ(utf8::replace_invalid("\xC0\xAF"), kMark + kMark);
  EXPECT_EQ(utf8::replace_invalid("\xE0\x80\xBF"), kMark + kMark + kMark);
  EXPECT_EQ(utf8::replace_invalid("\xED\xA0\x80"), kMark + kMark + kMark);
  EXPECT_EQ(utf8::replace_invalid("\xF4\x91\x92\x93"), kMark + kMark + kMark + kMark);
  EXPECT_EQ(utf8::replace_invalid("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"),
            kMark + kMark + kMark + kMark + "A");
  EXPECT_EQ(utf8::replace_invalid("pl\xC3\xA4in"), "pl\xC3\xA4in");
}

TEST(Utf8, UnfinishedSuffixSeesOnlyWhatCanStillBecomeACharacter) {
  EXPECT_EQ(utf8::unfinished_suffix(""), 0u);
  EXPECT_EQ(utf8::unfinished_suffix("abc"), 0u);
  EXPECT_EQ(utf8::unfinished_suffix("a\xE2"), 1u);
  EXPECT_EQ(utf8::unfinished_suffix("a\xE2\x82"), 2u);
  EXPECT_EQ(utf8::unfinished_suffix("a\xE2\x82\xAC"), 0u);
  EXPECT_EQ(utf8::unfinished_suffix("a\xF0\x9F\x98"), 3u);
  EXPECT_EQ(utf8::unfinished_suffix("\xE0\x80"), 0u);      // overlong: nothing can save it
  EXPECT_EQ(utf8::unfinished_suffix("\xED\xA0"), 0u);      // the start of a surrogate
  EXPECT_EQ(utf8::unfinished_suffix("\xF4\x90"), 0u);      // past the last character
  EXPECT_EQ(utf8::unfinished_suffix("\x80\x80\x80"), 0u);  // continuations of nothing
  EXPECT_EQ(utf8::unfinished_suffix("\xC3\xA4\xC3"), 1u);
  EXPECT_EQ(utf8::unfinished_suffix("\xF8\x80\x80"), 0u);
}

TEST(Utf8, CountsCodePoints) {
  EXPECT_EQ(utf8::count(""), 0u);
  EXPECT_EQ(utf8::count("a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80"), 4u);
}

TEST(Utf8, AnyBytesDecodeForwardAndReplaceToValidText) {
  std::mt19937 random(5);
  // Bytes that begin, continue and break characters, so that most of the grammar is met.
  constexpr std::string_view kBytes =
      "a\x80\x8F\x90\x9F\xA0\xBF\xC1\xC2\xE0\xE1\xED\xEE\xF0\xF1\xF4\xF5";
  for (int round = 0; round < 50'000; ++round) {
    std::string text(random() % 12, 'a');
    for (char& c : text)
      c = kBytes[random() % kBytes.size()];
    size_t consumed = 0;
    bool is_valid = true;
    while (consumed < text.size()) {
      const utf8::Decoded decoded = utf8::decode(std::string_view(text).substr(consumed));
      ASSERT_GE(decoded.size, 1u);
      ASSERT_LE(decoded.size, text.size() - consumed);
      ASSERT_LE(decoded.code_point, char32_t{0x10FFFF});
      is_valid = is_valid && decoded.is_valid;
      consumed += decoded.size;
    }
    ASSERT_EQ(utf8::is_valid(text), is_valid);
    const std::string replaced = utf8::replace_invalid(text);
    ASSERT_TRUE(utf8::is_valid(replaced));
    ASSERT_EQ(replaced == text, is_valid);
    ASSERT_LT(utf8::unfinished_suffix(text), 4u);
  }
}

}  // namespace
}  // namespace ingot
