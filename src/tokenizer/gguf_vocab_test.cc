// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/gguf_vocab.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "formats/gguf.h"
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
