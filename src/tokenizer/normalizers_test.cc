// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/normalizers.h"

#include <gtest/gtest.h>

#include <cstring>

namespace ingot::tok {
namespace {

std::string normalized(const NormalizerPtr& normalizer, std::string text) {
  NormalizedText value{std::move(text)};
  const Status status = normalizer->apply(value);
  EXPECT_TRUE(status) << status.message();
  return value.text;
}

TEST(Normalizers, UnicodeFormsComposeAndDecompose) {
  EXPECT_EQ(normalized(make_unicode_normalizer(UnicodeForm::kNfc), "e\u0301\ufb01"),
            "\u00e9\ufb01");
  EXPECT_EQ(normalized(make_unicode_normalizer(UnicodeForm::kNfd), "\u00e9\ud55c"),
            "e\u0301\u1112\u1161\u11ab");
  EXPECT_EQ(normalized(make_unicode_normalizer(UnicodeForm::kNfkc), "\ufb01\u2460e\u0301"),
            "fi1\u00e9");
  EXPECT_EQ(normalized(make_unicode_normalizer(UnicodeForm::kNfkd), "\uff21\u00bd"), "A1\u20442");
}

TEST(Normalizers, MarksAreOrderedByTheirClass) {
  EXPECT_EQ(normalized(make_unicode_normalizer(UnicodeForm::kNfd), "a\u0301\u0323"),
            "a\u0323\u0301");
  EXPECT_EQ(normalized(make_unicode_normalizer(UnicodeForm::kNfc), "a\u0301\u0323"),
            "\u1ea1\u0301");
  // Half a million marks in the worst order: sorting by neighbours would never end.
  std::string marks = "a";
  for (int i = 0; i < 250'000; ++i)
    marks += "\u0301\u0323";
  EXPECT_EQ(normalized(make_unicode_normalizer(UnicodeForm::kNfd), marks).size(), marks.size());
}

TEST(Normalizers, LowercaseMapsOneCharacterToTwoWhereUnicodeSaysSo) {
  EXPECT_EQ(normalized(make_lowercase(), "A\u0130\u03a3\u00c9"), "ai\u0307\u03c3\u00e9");
}

TEST(Normalizers, StripTakesUnicodeSpacesOffTheEnds) {
  EXPECT_EQ(normalized(make_strip(true, true), " \u3000a b\n"), "a b");
  EXPECT_EQ(normalized(make_strip(true, false), " a "), "a ");
  EXPECT_EQ(normalized(make_strip(false, true), " a "), " a");
  NormalizedText value{" a"};
  ASSERT_TRUE(make_strip(true, true)->apply(value));
  EXPECT_FALSE(value.is_at_start());
}

TEST(Normalizers, StripAccentsDropsMarks) {
  EXPECT_EQ(normalized(make_strip_accents(), "e\u0301\u0903x\u00e9"), "ex\u00e9");
}

TEST(Normalizers, ReplaceKnowsLiteralsAndPatterns) {
  EXPECT_EQ(normalized(make_replace(SplitPattern::literal(" "), "\u2581"), "a b  c"),
            "a\u2581b\u2581\u2581c");
  Result<SplitPattern> spaces = SplitPattern::regex(" {2,}", "test");
  ASSERT_TRUE(spaces);
  EXPECT_EQ(normalized(make_replace(*std::move(spaces), "_"), "a b  c"), "a b_c");
}

TEST(Normalizers, PrependLeavesEmptyTextAlone) {
  EXPECT_EQ(normalized(make_prepend("\u2581"), "a"), "\u2581a");
  EXPECT_EQ(normalized(make_prepend("\u2581"), ""), "");
}

TEST(Normalizers, NmtCleansControlsAndSpaces) {
  EXPECT_EQ(normalized(make_nmt(), "a\u0001\tb\u200b\ufeffc"), "a b  c");
}

TEST(Normalizers, ByteLevelSpellsBytes) {
  EXPECT_EQ(normalized(make_byte_level_normalizer(), " \u00e9\n"), "\u0120\u00c3\u00a9\u010a");
}

TEST(Normalizers, BertCleansSplitsAndFolds) {
  EXPECT_EQ(normalized(make_bert_normalizer({}), "H\u00e9llo\u200d\t\u6f22\u5b57"),
            "hello  \u6f22  \u5b57 ");
  BertNormalizerOptions plain{.clean_text = false,
                              .handle_chinese_chars = false,
                              .strip_accents = false,
                              .lowercase = false};
  EXPECT_EQ(normalized(make_bert_normalizer(plain), "H\u00e9\u6f22"), "H\u00e9\u6f22");
}

// A table with one key, "A" -> "xyz", laid out by hand: the root's children begin at unit 1 ^ ... .
std::string one_key_charsmap() {
  std::vector<uint32_t> units(256, 0x80000000U);
  units[0] = 1U << 10;                        // offset of the root's children: 1
  units[1 ^ 'A'] = 'A' | 1U << 8 | 2U << 10;  // label, has a value, offset 2
  units[(1 ^ 'A') ^ 2] = 0;                   // the value: replacement at 0
  std::string blob(sizeof(uint32_t), '\0');
  const auto bytes = static_cast<uint32_t>(units.size() * sizeof(uint32_t));
  std::memcpy(blob.data(), &bytes, sizeof(bytes));
  blob.append(reinterpret_cast<const char*>(units.data()), bytes);
  return blob + std::string("xyz\0", 4);
}

TEST(Normalizers, PrecompiledReplacesByItsTable) {
  Result<Charsmap> map = Charsmap::parse(one_key_charsmap(), "test");
  ASSERT_TRUE(map) << map.status().message();
  EXPECT_EQ(normalized(make_precompiled(*std::move(map)), "bAc"), "bxyzc");
}

TEST(Charsmap, RefusesTablesThatDoNotFitAndSurvivesWildOnes) {
  const std::string good = one_key_charsmap();
  EXPECT_FALSE(Charsmap::parse("", "test"));
  EXPECT_FALSE(Charsmap::parse(good.substr(0, 3), "test"));
  EXPECT_FALSE(Charsmap::parse(good.substr(0, 100), "test"));
  // Every unit points far outside.
  std::string wild = good;
  for (size_t i = 4; i + 4 <= wild.size() - 4; ++i)
    wild[i] = '\xFF';
  const Result<Charsmap> map = Charsmap::parse(wild, "test");
  ASSERT_TRUE(map);
  EXPECT_FALSE(map->longest_prefix("A"));
  // The replacement lies past the end.
  std::string far = good;
  const uint32_t offset = 0x7FFFFFFF;
  std::memcpy(far.data() + 4 + sizeof(uint32_t) * ((1 ^ 'A') ^ 2), &offset, sizeof(offset));
  const Result<Charsmap> cut = Charsmap::parse(far, "test");
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->shortest_prefix("A"), "");
}

TEST(Charsmap, Base64RefusesOtherCharacters) {
  EXPECT_EQ(decode_base64("aGVsbG8="), "hello");
  EXPECT_FALSE(decode_base64("a*b"));
}

}  // namespace
}  // namespace ingot::tok
