// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/hf_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tokenizer/tokenizer.h"

namespace ingot::tok {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kBpe =
    R"({"type":"BPE","vocab":{"a":0,"b":1,"ab":2,"<s>":3},"merges":["a b"]})";

std::string document(std::string_view model, std::string_view more = "") {
  return R"({"version":"1.0","truncation":{"max_length":1},)" + std::string(more) + R"("model":)" +
         std::string(model) + "}";
}

Result<std::shared_ptr<const Tokenizer>> load_json(std::string_view text) {
  return Tokenizer::from_tokenizer_json(text, "tokenizer.json");
}

std::string error_of(std::string_view text) {
  const auto tokenizer = load_json(text);
  EXPECT_FALSE(tokenizer) << text;
  return tokenizer ? "" : tokenizer.status().message();
}

TEST(TokenizerJson, ReadsTheSmallestFile) {
  const auto tokenizer = load_json(document(kBpe));
  ASSERT_TRUE(tokenizer) << tokenizer.status().message();
  EXPECT_THAT(*(*tokenizer)->encode("aba"), ElementsAre(2, 0));
  EXPECT_EQ((*tokenizer)->decode(std::vector<TokenId>{2, 0}),
            "ab a");  // no decoder: joined by spaces
  EXPECT_EQ((*tokenizer)->vocab_size(), 4U);
  EXPECT_EQ((*tokenizer)->piece(2), "ab");
  EXPECT_EQ((*tokenizer)->piece(99), "");
  EXPECT_EQ((*tokenizer)->decode(std::vector<TokenId>{-5, 99}), "");
}

TEST(TokenizerJson, ReadsFieldsInAnyOrder) {
  const auto tokenizer =
      load_json(R"({"model":{"merges":[["a","b"]],"vocab":{"b":1,"ab":2,"a":0},"type":"BPE"}})");
  ASSERT_TRUE(tokenizer) << tokenizer.status().message();
  EXPECT_THAT(*(*tokenizer)->encode("ab"), ElementsAre(2));
}

TEST(TokenizerJson, AddsWhatTheTemplateSays) {
  const auto tokenizer = load_json(document(kBpe, R"("post_processor":{"type":"TemplateProcessing",
      "single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],
      "pair":[],"special_tokens":{"<s>":{"id":"<s>","ids":[3],"tokens":["<s>"]}}},)"));
  ASSERT_TRUE(tokenizer) << tokenizer.status().message();
  EXPECT_THAT(*(*tokenizer)->encode("a"), ElementsAre(3, 0));
  EXPECT_THAT(*(*tokenizer)->encode("a", {.add_special = false}), ElementsAre(0));
}

TEST(TokenizerJson, BertAndRobertaProcessorsSurroundTheText) {
  for (const char* type : {"BertProcessing", "RobertaProcessing"}) {
    const auto tokenizer =
        load_json(document(kBpe, std::string(R"("post_processor":{"type":")") + type +
                                     R"(","sep":["b",1],"cls":["<s>",3]},)"));
    ASSERT_TRUE(tokenizer) << tokenizer.status().message();
    EXPECT_THAT(*(*tokenizer)->encode("a"), ElementsAre(3, 0, 1));
  }
}

TEST(TokenizerJson, KnowsTheOtherModels) {
  const auto unigram =
      load_json(document(R"({"type":"Unigram","unk_id":0,"vocab":[["<unk>",0],["a",-1.5]]})"));
  ASSERT_TRUE(unigram) << unigram.status().message();
  EXPECT_THAT(*(*unigram)->encode("ax"), ElementsAre(1, 0));
  const auto wordpiece = load_json(document(
      R"({"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":9,
          "vocab":{"[UNK]":0,"a":1,"##b":2}})"));
  ASSERT_TRUE(wordpiece) << wordpiece.status().message();
  EXPECT_THAT(*(*wordpiece)->encode("ab"), ElementsAre(1, 2));
  const auto wordlevel =
      load_json(document(R"({"type":"WordLevel","unk_token":"?","vocab":{"?":0,"ab":1}})"));
  ASSERT_TRUE(wordlevel) << wordlevel.status().message();
  EXPECT_THAT(*(*wordlevel)->encode("ab"), ElementsAre(1));
}

TEST(TokenizerJson, RefusesIdsOutOfRange) {
  EXPECT_THAT(error_of(document(R"({"type":"BPE","vocab":{"a":999999999},"merges":[]})")),
              HasSubstr("999999999"));
  EXPECT_THAT(error_of(document(R"({"type":"BPE","vocab":{"a":-1},"merges":[]})")),
              HasSubstr("-1"));
  EXPECT_THAT(error_of(document(R"({"type":"Unigram","unk_id":5,"vocab":[["a",0]]})")),
              HasSubstr("unk_id is 5"));
  EXPECT_THAT(
      error_of(document(
          kBpe, R"("post_processor":{"type":"BertProcessing","sep":["b",1],"cls":["x",77]},)")),
      HasSubstr("77"));
}

TEST(TokenizerJson, RefusesMergesThatTheVocabularyLacks) {
  EXPECT_THAT(error_of(document(R"({"type":"BPE","vocab":{"a":0},"merges":["a b"]})")),
              HasSubstr("'b'"));
  EXPECT_THAT(error_of(document(R"({"type":"BPE","vocab":{"a":0,"b":1},"merges":["a b"]})")),
              HasSubstr("'ab'"));
  EXPECT_THAT(error_of(document(R"({"type":"BPE","vocab":{"a":0},"merges":["a"]})")),
              HasSubstr("merge"));
}

TEST(TokenizerJson, ErrorsNameFileAndPlace) {
  EXPECT_THAT(error_of("{"), HasSubstr("tokenizer.json"));
  EXPECT_THAT(error_of("{}"), HasSubstr("no 'model'"));
  EXPECT_THAT(error_of(document(R"({"type":"BPE","vocab":7})")), HasSubstr("offset"));
  EXPECT_THAT(error_of(document(R"({"type":"Magic","vocab":{}})")), HasSubstr("Magic"));
  EXPECT_THAT(error_of(document(kBpe, R"("normalizer":{"type":"Magic"},)")), HasSubstr("Magic"));
  EXPECT_THAT(error_of(document(kBpe, R"("decoder":{"type":"Magic"},)")), HasSubstr("Magic"));
  EXPECT_THAT(
      error_of(document(kBpe, R"("pre_tokenizer":{"type":"Split","pattern":{"Regex":"("}},)")),
      HasSubstr("regular expression"));
  EXPECT_THAT(error_of(document(
                  kBpe, R"("normalizer":{"type":"Precompiled","precompiled_charsmap":"AAA="},)")),
              HasSubstr("precompiled_charsmap"));
}

TEST(TokenizerJson, RefusesEndlessPipelines) {
  std::string steps = R"({"type":"NFC"})";
  for (int i = 0; i < 100; ++i)
    steps += R"(,{"type":"NFC"})";
  EXPECT_THAT(error_of(document(
                  kBpe, R"("normalizer":{"type":"Sequence","normalizers":[)" + steps + "]},")),
              HasSubstr("steps"));
  std::string nested;
  for (int i = 0; i < 100; ++i)
    nested += R"({"type":"Sequence","normalizers":[)";
  EXPECT_FALSE(load_json(document(kBpe, R"("normalizer":)" + nested)));
}

TEST(TokenizerJson, CutAnywhereItIsRefused) {
  const std::string whole =
      document(kBpe, R"("added_tokens":[{"id":4,"content":"<x>","special":true}],)");
  ASSERT_TRUE(load_json(whole));
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(load_json(std::string_view(whole).substr(0, size))) << size;
  }
}

TEST(TokenizerJson, EncodesInvalidUtf8AsReplacementCharacters) {
  const auto tokenizer =
      load_json(document(R"({"type":"BPE","vocab":{"a":0,"\ufffd":1},"merges":[]})"));
  ASSERT_TRUE(tokenizer) << tokenizer.status().message();
  EXPECT_THAT(*(*tokenizer)->encode("a\xff"), ElementsAre(0, 1));
}

// Every piece that stems from the first character of the input counts as first, however many steps
// have added to it or cut it up. Expected pieces are those of the `tokenizers` package.
TEST(HfJson, MetaspaceFirstMeansTheFirstCharacterOfTheInput) {
  struct Case {
    const char* normalizer;
    const char* before;  // the step before Metaspace
    const char* text;
    std::vector<std::string> pieces;
  };
  constexpr const char* kIsolateA =
      R"({"type": "Split", "pattern": {"String": "a"}, "behavior": "Isolated", "invert": false})";
  constexpr const char* kChars = R"({"type": "FixedLength", "length": 1})";
  const Case cases[] = {
      {"null", kIsolateA, "ab", {"_", "a", "b"}},
      {R"({"type": "Prepend", "prepend": "a"})", kIsolateA, "bb", {"_", "a", "_", "b", "b"}},
      {R"({"type": "Lowercase"})", kChars, "\u0130b", {"_", "i", "_", "\u0307", "b"}},
      {R"({"type": "Replace", "pattern": {"Regex": "a+"}, "content": "b"})", kChars, "aaa", {"b"}},
      {R"({"type": "Replace", "pattern": {"Regex": "a+"}, "content": "bb"})",
       kChars,
       "ab",
       {"_", "b", "_", "b", "b"}},
      {R"({"type": "Strip", "strip_left": true, "strip_right": false})", kChars, " a", {"a"}},
  };
  for (const Case& expected : cases) {
    const auto tokenizer = Tokenizer::from_tokenizer_json(
        fmt::format(R"({{"normalizer": {}, "pre_tokenizer": {{"type": "Sequence", "pretokenizers":
                         [{}, {{"type": "Metaspace", "replacement": "_",
                                "prepend_scheme": "first", "split": false}}]}},
                         "model": {{"type": "BPE", "merges": [],
                                    "vocab": {{"a":0,"b":1,"_":2,"i":3,"\u0307":4," ":5}}}}}})",
                    expected.normalizer, expected.before),
        "test");
    ASSERT_TRUE(tokenizer) << tokenizer.status().message();
    const auto encoding = (*tokenizer)->encode_with_pieces(expected.text);
    ASSERT_TRUE(encoding) << encoding.status().message();
    EXPECT_EQ(encoding->pieces, expected.pieces) << expected.normalizer << ' ' << expected.text;
  }
}

}  // namespace
}  // namespace ingot::tok
