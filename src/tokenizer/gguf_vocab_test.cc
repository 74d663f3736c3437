// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/gguf_vocab.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "formats/gguf.h"
#include "formats/gguf_writer.h"
#include "tokenizer/gguf_pre.h"
#include "tokenizer/split_pattern.h"
#include "tokenizer/tokenizer.h"

namespace ingot::tok {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// The file must live as long as the tokenizer is built from it.
Result<std::shared_ptr<const Tokenizer>> load(const GgufWriter& writer) {
  const std::filesystem::path path =
      std::filesystem::path(::testing::TempDir()) / "gguf_vocab_test.gguf";
  EXPECT_TRUE(writer.write(path));
  const auto file = GgufFile::open(path);
  EXPECT_TRUE(file) << file.status().message();
  return Tokenizer::from_gguf((*file)->metadata());
}

constexpr int32_t kNormal = 1;
constexpr int32_t kUnknown = 2;
constexpr int32_t kControl = 3;
constexpr int32_t kUserDefined = 4;

GgufWriter llama() {
  GgufWriter writer;
  writer.set("tokenizer.ggml.model", "llama");
  writer.set("tokenizer.ggml.tokens",
             std::vector<std::string>{"<unk>", "<s>", "</s>", "\u2581", "a", "\u2581a", "<sep>"});
  writer.set("tokenizer.ggml.scores", std::vector<float>{0, 0, 0, -3, -4, -1, 0});
  writer.set(
      "tokenizer.ggml.token_type",
      std::vector<int32_t>{kUnknown, kControl, kControl, kNormal, kNormal, kNormal, kUserDefined});
  return writer;
}

GgufWriter gpt2() {
  GgufWriter writer;
  writer.set("tokenizer.ggml.model", "gpt2");
  writer.set("tokenizer.ggml.pre", "llama-bpe");
  writer.set("tokenizer.ggml.tokens",
             std::vector<std::string>{"a", "b", "ab", "\u0120", "<|im_end|>", "<|x|>"});
  writer.set("tokenizer.ggml.merges", std::vector<std::string>{"a b", "a gone"});
  writer.set("tokenizer.ggml.token_type",
             std::vector<int32_t>{kNormal, kNormal, kNormal, kNormal, kNormal, kControl});
  writer.set("tokenizer.ggml.bos_token_id", uint32_t{5});
  return writer;
}

TEST(GgufVocabulary, ReadsSentencePieceKinds) {
  const auto tokenizer = load(llama());
  ASSERT_TRUE(tokenizer) << tokenizer.status().message();
  EXPECT_THAT(*(*tokenizer)->encode("a a"), ElementsAre(1, 5, 5));
  EXPECT_THAT(*(*tokenizer)->encode("a<sep></s>", {.parse_special = false}), Contains(6));
  EXPECT_THAT(*(*tokenizer)->encode("a<sep></s>", {.parse_special = false}), Not(Contains(2)));
  EXPECT_EQ((*tokenizer)->decode(*(*tokenizer)->encode("a a"), true), "a a");
}

TEST(GgufVocabulary, ObeysItsSwitches) {
  GgufWriter writer = llama();
  writer.set("tokenizer.ggml.add_bos_token", false);
  writer.set("tokenizer.ggml.add_eos_token", true);
  writer.set("tokenizer.ggml.add_space_prefix", false);
  const auto tokenizer = load(writer);
  ASSERT_TRUE(tokenizer) << tokenizer.status().message();
  EXPECT_THAT(*(*tokenizer)->encode("a a"), ElementsAre(4, 5, 2));
}

TEST(GgufVocabulary, ReadsByteLevelKinds) {
  const auto tokenizer = load(gpt2());
  ASSERT_TRUE(tokenizer) << tokenizer.status().message();
  EXPECT_THAT(*(*tokenizer)->encode("ab ab<|im_end|>"), ElementsAre(5, 2, 3, 2, 4));
  EXPECT_THAT((*tokenizer)->special().eos, ElementsAre(4));
  EXPECT_EQ((*tokenizer)->decode(std::vector<TokenId>{2, 3, 2}), "ab ab");
}

TEST(GgufVocabulary, ReadsWordPieceKinds) {
  GgufWriter writer;
  writer.set("tokenizer.ggml.model", "bert");
  writer.set("tokenizer.ggml.tokens",
             std::vector<std::string>{"[UNK]", "[CLS]", "[SEP]", "\u2581ab", "c", "\u2581,"});
  writer.set("tokenizer.ggml.unknown_token_id", uint32_t{0});
  writer.set("tokenizer.ggml.bos_token_id", uint32_t{1});
  writer.set("tokenizer.ggml.seperator_token_id", uint32_t{2});
  const auto tokenizer = load(writer);
  ASSERT_TRUE(tokenizer) << tokenizer.status().message();
  EXPECT_THAT(*(*tokenizer)->encode("ABC, x"), ElementsAre(1, 3, 4, 5, 0, 2));
}

TEST(GgufVocabulary, ReadsRwkvKinds) {
  GgufWriter writer;
  writer.set("tokenizer.ggml.model", "rwkv");
  writer.set("tokenizer.ggml.tokens",
             std::vector<std::string>{"<s>", "a", "ab", "abcd", "\\n\\n", "\\n", "\\xe4",
                                      "\\xb8\\xad", "\\\\", "c", "\u00e9"});
  writer.set("tokenizer.ggml.token_type",
             std::vector<int32_t>{kControl, kNormal, kNormal, kNormal, kNormal, kNormal, kNormal,
                                  kNormal, kNormal, kNormal, kNormal});
  const auto tokenizer = load(writer);
  ASSERT_TRUE(tokenizer) << tokenizer.status().message();
  // "abc" begins "abcd" but is no entry: the longest one that fits is "ab".
  EXPECT_THAT(*(*tokenizer)->encode("abcabcd"), ElementsAre(2, 9, 3));
  EXPECT_THAT(*(*tokenizer)->encode("a\n\n\n\\\u4e2d\u00e9<s>"),
              ElementsAre(1, 4, 5, 8, 6, 7, 10, 0));
  EXPECT_EQ((*tokenizer)->decode(std::vector<TokenId>{1, 4, 8, 6, 7, 10}), "a\n\n\\\u4e2d\u00e9");
  EXPECT_FALSE((*tokenizer)->encode("x"));
  writer.set("tokenizer.ggml.unknown_token_id", uint32_t{0});
  EXPECT_THAT(*(*load(writer))->encode("axa"), ElementsAre(1, 0, 1));
}

GgufWriter plamo2() {
  GgufWriter writer;
  std::vector<std::string> tokens{"<|plamo:unk|>", "<|plamo:bos|>", "<|plamo:eos|>"};
  std::vector<float> scores{0, 0, 0};
  std::vector<int32_t> types{kUnknown, kControl, kControl};
  for (int byte = 0; byte < 256; ++byte) {
    tokens.push_back(fmt::format("<0x{:02X}>", byte));
    scores.push_back(0);
    types.push_back(6);
  }
  // 259 ...
  const std::pair<const char*, float> words[] = {{"a", -1},  {"b", -1},      {"ab", -2},
                                                 {"bc", -1}, {"abc", -9},    {"\u4e2d", -3},
                                                 {"c", -4},  {"rare", -2500}};
  for (const auto& [text, score] : words) {
    tokens.emplace_back(text);
    scores.push_back(score);
    types.push_back(kNormal);
  }
  writer.set("tokenizer.ggml.model", "plamo2");
  writer.set("tokenizer.ggml.tokens", tokens);
  writer.set("tokenizer.ggml.scores", scores);
  writer.set("tokenizer.ggml.token_type", types);
  return writer;
}

TEST(GgufVocabulary, ReadsPlamo2Kinds) {
  const auto tokenizer = load(plamo2());
  ASSERT_TRUE(tokenizer) << tokenizer.status().message();
  // "ab" costs as much as "a" and "b": the longer entry wins.
  EXPECT_THAT(*(*tokenizer)->encode("ab"), ElementsAre(261));
  // "a" and "bc" cost 2, "ab" and "c" 6, "abc" 9.
  EXPECT_THAT(*(*tokenizer)->encode("abc"), ElementsAre(259, 262));
  EXPECT_THAT(*(*tokenizer)->encode("\ufeffa\u4e2d"), ElementsAre(259, 264));
  EXPECT_THAT(*(*tokenizer)->encode("a\u00e9"), ElementsAre(259, 3 + 0xC3, 3 + 0xA9));
  // An entry whose score is out of bounds is not taken: bytes, but for the letter that is known.
  EXPECT_THAT(*(*tokenizer)->encode("rare"), ElementsAre(3 + 'r', 259, 3 + 'r', 3 + 'e'));
  EXPECT_THAT(*(*tokenizer)->encode("a<|plamo:eos|>"), ElementsAre(259, 2));
  EXPECT_EQ((*tokenizer)->decode(*(*tokenizer)->encode("abc \u00e9")), "abc \u00e9");
  EXPECT_THAT((*tokenizer)->special().eos, ElementsAre(2));
}

TEST(GgufVocabulary, RefusesPlamo2WithoutAllBytes) {
  GgufWriter writer;
  writer.set("tokenizer.ggml.model", "plamo2");
  writer.set("tokenizer.ggml.tokens", std::vector<std::string>{"u", "b", "e", "<0x00>", "a"});
  EXPECT_THAT(load(writer).status().message(), HasSubstr("<0x01>"));
}

TEST(GgufVocabulary, NamesTheKindsItDoesNotKnow) {
  GgufWriter writer = gpt2();
  writer.set("tokenizer.ggml.pre", "hybriddna");
  EXPECT_THAT(load(writer).status().message(), HasSubstr("hybriddna"));
  writer.set("tokenizer.ggml.model", "hybriddna");
  EXPECT_EQ(load(writer).status().code(), StatusCode::kUnsupported);
  EXPECT_THAT(load(writer).status().message(), HasSubstr("hybriddna"));
}

TEST(GgufVocabulary, PrefersTheOriginalFile) {
  GgufWriter writer = llama();
  writer.set("tokenizer.huggingface.json",
             R"({"model":{"type":"BPE","vocab":{"x":0,"y":1,"z":2},"merges":[]}})");
  const auto tokenizer = load(writer);
  ASSERT_TRUE(tokenizer) << tokenizer.status().message();
  EXPECT_THAT(*(*tokenizer)->encode("yz"), ElementsAre(1, 2));
}

TEST(GgufVocabulary, RefusesSpecialIdsOutOfRange) {
  for (const char* key :
       {"bos_token_id", "eos_token_id", "eot_token_id", "padding_token_id", "unknown_token_id"}) {
    GgufWriter writer = gpt2();
    writer.set(std::string("tokenizer.ggml.") + key, uint32_t{999'999});
    const auto tokenizer = load(writer);
    ASSERT_FALSE(tokenizer) << key;
    EXPECT_THAT(tokenizer.status().message(), HasSubstr(key));
  }
  GgufWriter none = gpt2();
  none.set("tokenizer.ggml.padding_token_id", uint32_t{0xFFFFFFFF});  // how -1 is often stored
  EXPECT_TRUE(load(none));
}

TEST(GgufVocabulary, RefusesTablesOfDifferentLengths) {
  GgufWriter writer = llama();
  writer.set("tokenizer.ggml.scores", std::vector<float>{0, 0});
  EXPECT_FALSE(load(writer));
  GgufWriter untyped = llama();
  untyped.set("tokenizer.ggml.token_type", std::vector<int32_t>{1});
  EXPECT_FALSE(load(untyped));
}

TEST(GgufVocabulary, RefusesWhatItDoesNotKnow) {
  GgufWriter writer = gpt2();
  writer.set("tokenizer.ggml.pre", "magic");
  EXPECT_THAT(load(writer).status().message(), HasSubstr("magic"));
  GgufWriter other;
  other.set("tokenizer.ggml.model", "magic");
  other.set("tokenizer.ggml.tokens", std::vector<std::string>{"a"});
  EXPECT_EQ(load(other).status().code(), StatusCode::kUnsupported);
  GgufWriter none;
  none.set("tokenizer.ggml.model", "none");
  EXPECT_EQ(load(none).status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(load(GgufWriter()));
}

TEST(GgufPre, EveryKindsPatternsCompile) {
  for (const GgufPre& kind : gguf_pre_kinds()) {
    EXPECT_EQ(find_gguf_pre(kind.name), &kind) << kind.name << " is listed twice";
    for (const std::string_view pattern : kind.patterns) {
      const auto compiled = SplitPattern::regex(pattern, kind.name);
      EXPECT_TRUE(compiled) << compiled.status().message();
    }
  }
  EXPECT_EQ(find_gguf_pre(""), find_gguf_pre("default"));
}

}  // namespace
}  // namespace ingot::tok
