// SPDX-License-Identifier: Apache-2.0
// Expected ids and types are those of the `tokenizers` package for the same files.
#include "tokenizer/post_processor.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tokenizer/tokenizer.h"

namespace ingot::tok {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

std::shared_ptr<const Tokenizer> with_post_processor(std::string_view post_processor) {
  const auto tokenizer = Tokenizer::from_tokenizer_json(
      fmt::format(R"({{"pre_tokenizer": {{"type": "WhitespaceSplit"}}, "post_processor": {},
                       "model": {{"type": "WordLevel", "unk_token": "c",
                                  "vocab": {{"a":0,"b":1,"c":2,"[CLS]":3,"[SEP]":4}}}}}})",
                  post_processor),
      "test");
  EXPECT_TRUE(tokenizer) << tokenizer.status().message();
  return tokenizer ? *tokenizer : nullptr;
}

constexpr std::string_view kBert =
    R"({"type": "BertProcessing", "sep": ["[SEP]", 4], "cls": ["[CLS]", 3]})";
constexpr std::string_view kRoberta =
    R"({"type": "RobertaProcessing", "sep": ["[SEP]", 4], "cls": ["[CLS]", 3],
        "trim_offsets": true, "add_prefix_space": true})";
constexpr std::string_view kTemplate = R"({"type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}},
               {"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}},
             {"Sequence": {"id": "B", "type_id": 2}},
             {"SpecialToken": {"id": "[SEP]", "type_id": 3}},
             {"Sequence": {"id": "A", "type_id": 1}},
             {"Sequence": {"id": "B", "type_id": 0}}],
    "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [3], "tokens": ["[CLS]"]},
                       "[SEP]": {"id": "[SEP]", "ids": [4, 0], "tokens": ["[SEP]", "a"]}}})";
constexpr std::string_view kByteLevel =
    R"({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true})";

std::string sequence(std::string_view first, std::string_view second) {
  return fmt::format(R"({{"type": "Sequence", "processors": [{}, {}]}})", first, second);
}

struct Case {
  std::string post_processor;
  std::vector<TokenId> ids;
  std::vector<int32_t> types;
  std::vector<TokenId> plain_ids;  // without special tokens
  std::vector<int32_t> plain_types;
};

TEST(PostProcessor, JoinsTwoTextsAsTheReferenceDoes) {
  const Case cases[] = {
      {"null", {0, 1, 1}, {0, 0, 1}, {0, 1, 1}, {0, 0, 1}},
      {std::string(kByteLevel), {0, 1, 1}, {0, 0, 1}, {0, 1, 1}, {0, 0, 1}},
      {std::string(kBert), {3, 0, 1, 4, 1, 4}, {0, 0, 0, 0, 1, 1}, {0, 1, 1}, {0, 0, 1}},
      {std::string(kRoberta), {3, 0, 1, 4, 4, 1, 4}, {0, 0, 0, 0, 0, 0, 0}, {0, 1, 1}, {0, 0, 0}},
      {std::string(kTemplate),
       {3, 1, 4, 0, 0, 1, 1},
       {0, 2, 3, 3, 1, 1, 0},
       {1, 0, 1, 1},
       {2, 1, 1, 0}},
      {sequence(kByteLevel, kTemplate),
       {3, 1, 4, 0, 0, 1, 1},
       {0, 2, 3, 3, 1, 1, 0},
       {1, 0, 1, 1},
       {2, 1, 1, 0}},
      {sequence(kBert, kBert),
       {3, 3, 0, 1, 4, 4, 1, 4, 4},
       {0, 0, 0, 0, 0, 0, 1, 1, 1},
       {0, 1, 1},
       {0, 0, 1}},
      {sequence(kBert, kTemplate),
       {3, 1, 4, 4, 0, 3, 0, 1, 4, 1, 4},
       {0, 2, 2, 3, 3, 1, 1, 1, 1, 0, 0},
       {1, 0, 1, 1},
       {2, 1, 1, 0}},
  };
  for (const Case& expected : cases) {
    SCOPED_TRACE(expected.post_processor);
    const auto tokenizer = with_post_processor(expected.post_processor);
    ASSERT_NE(tokenizer, nullptr);
    const auto pair = tokenizer->encode_pair("a b", "b");
    ASSERT_TRUE(pair) << pair.status().message();
    EXPECT_THAT(pair->ids, ElementsAreArray(expected.ids));
    EXPECT_THAT(pair->type_ids, ElementsAreArray(expected.types));
    const auto plain = tokenizer->encode_pair("a b", "b", {.add_special = false});
    ASSERT_TRUE(plain) << plain.status().message();
    EXPECT_THAT(plain->ids, ElementsAreArray(expected.plain_ids));
    EXPECT_THAT(plain->type_ids, ElementsAreArray(expected.plain_types));
  }
}

TEST(PostProcessor, LeavesSingleTextsAsTheyWere) {
  EXPECT_THAT(*with_post_processor(kBert)->encode("a b"), ElementsAre(3, 0, 1, 4));
  EXPECT_THAT(*with_post_processor(kRoberta)->encode("a b"), ElementsAre(3, 0, 1, 4));
  EXPECT_THAT(*with_post_processor(kTemplate)->encode("a b"), ElementsAre(3, 0, 1));
}

TEST(PostProcessor, PutsBosAndEosAroundBothTexts) {
  const std::vector<Template> templates{bos_eos_template(7, 8, 9)};
  const PairEncoding pair = apply_pair_templates(templates, true, {1, 2}, {3});
  EXPECT_THAT(pair.ids, ElementsAre(7, 1, 2, 8, 9, 3, 8));
  EXPECT_THAT(pair.type_ids, ElementsAre(0, 0, 0, 0, 1, 1, 1));
}

}  // namespace
}  // namespace ingot::tok
