// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/sentencepiece.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "tokenizer/tokenizer.h"

namespace ingot::tok {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A protocol buffer, written field by field.
std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7)
    out += static_cast<char>(0x80 | (value & 0x7F));
  return out + static_cast<char>(value);
}
std::string number(uint32_t field, uint64_t value) {
  return varint(field << 3) + varint(value);
}
std::string bytes(uint32_t field, const std::string& text) {
  return varint(field << 3 | 2) + varint(text.size()) + text;
}
std::string real(uint32_t field, float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return varint(field << 3 | 5) + std::string(reinterpret_cast<const char*>(&bits), sizeof(bits));
}
std::string piece(const std::string& text, float score, PieceType type = PieceType::kNormal) {
  return bytes(1, bytes(1, text) + real(2, score) + number(3, static_cast<uint64_t>(type)));
}

constexpr uint64_t kBpeModel = 2;
constexpr uint64_t kWord = 3;

std::string model(uint64_t type = kBpeModel) {
  return piece("<unk>", 0, PieceType::kUnknown) + piece("<s>", 0, PieceType::kControl) +
         piece("</s>", 0, PieceType::kControl) + piece("\u2581", -3) + piece("a", -4) +
         piece("\u2581a", -1) + piece("<sep>", 0, PieceType::kUserDefined) +
         bytes(2, number(3, type)) + bytes(3, number(4, 0));  // extra white space is kept
}

Result<std::shared_ptr<const Tokenizer>> load_proto(const std::string& text) {
  return Tokenizer::from_sentencepiece(std::as_bytes(std::span(text)), "tokenizer.model");
}

TEST(SentencePiece, ReadsAModel) {
  const auto tokenizer = load_proto(model());
  ASSERT_TRUE(tokenizer) << tokenizer.status().message();
  EXPECT_THAT(*(*tokenizer)->encode("a a"), ElementsAre(1, 5, 5));
  EXPECT_THAT(*(*tokenizer)->encode("a<sep>a</s>"), ElementsAre(1, 5, 6, 4, 2));
  EXPECT_THAT(*(*tokenizer)->encode("axx", {.add_special = false}), ElementsAre(5, 0));
  EXPECT_EQ((*tokenizer)->decode(*(*tokenizer)->encode("a a"), true), "a a");
  EXPECT_EQ((*tokenizer)->special().bos, 1);
  EXPECT_THAT((*tokenizer)->special().eos, ElementsAre(2));
}

TEST(SentencePiece, ReadsUnigramModels) {
  const auto tokenizer = load_proto(model(1));
  ASSERT_TRUE(tokenizer) << tokenizer.status().message();
  EXPECT_THAT(*(*tokenizer)->encode("a a"), ElementsAre(5, 5, 2));
}

TEST(SentencePiece, RefusesWhatIsNotAModel) {
  const auto error_of = [](const std::string& text) {
    const auto tokenizer = load_proto(text);
    EXPECT_FALSE(tokenizer);
    return tokenizer ? "" : tokenizer.status().message();
  };
  EXPECT_THAT(error_of(""), HasSubstr("no pieces"));
  EXPECT_THAT(error_of(model(kWord)), HasSubstr("BPE and Unigram"));
  EXPECT_THAT(error_of(model(77)), HasSubstr("type of model"));
  EXPECT_THAT(error_of(piece("a", 0)), HasSubstr("unknown piece"));
  EXPECT_THAT(error_of(piece("", 0)), HasSubstr("empty"));
  EXPECT_THAT(error_of(piece("\xff", 0)), HasSubstr("UTF-8"));
  EXPECT_THAT(error_of(piece("a", std::numeric_limits<float>::quiet_NaN())), HasSubstr("score"));
  EXPECT_THAT(error_of(piece(std::string(70'000, 'a'), 0)), HasSubstr("too long"));
  EXPECT_THAT(error_of(varint(1 << 3 | 2) + varint(1'000'000)),
              HasSubstr("longer than its message"));
  EXPECT_THAT(error_of(std::string(20, '\xff')), HasSubstr("too many bytes"));
  EXPECT_THAT(error_of(model() + bytes(3, bytes(2, "abc"))), HasSubstr("precompiled_charsmap"));
}

TEST(SentencePiece, CutAnywhereItIsRefusedOrSmaller) {
  const std::string whole = model();
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto tokenizer = load_proto(whole.substr(0, size));
    if (!tokenizer) continue;
    EXPECT_TRUE((*tokenizer)->encode("a b"));
  }
}

TEST(SentencePiece, TakesAddedTokensAndFlagsFromTheFolder) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / "sentencepiece_folder";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "tokenizer.model", std::ios::binary) << model();
  std::ofstream(folder / "added_tokens.json") << R"({"<old>": 7})";
  std::ofstream(folder / "tokenizer_config.json")
      << R"({"add_bos_token": false, "add_eos_token": true, "bos_token": {"content": "<s>"}, "eos_token": "<end>",
             "added_tokens_decoder": {"8": {"content": "<end>", "special": true}}})";
  std::ofstream(folder / "generation_config.json") << R"({"eos_token_id": [8, 2]})";
  const auto tokenizer = Tokenizer::from_folder(folder);
  ASSERT_TRUE(tokenizer) << tokenizer.status().message();
  EXPECT_THAT(*(*tokenizer)->encode("a<old>"), ElementsAre(5, 7, 8));
  EXPECT_THAT((*tokenizer)->special().eos, ElementsAre(8, 2));
  EXPECT_TRUE((*tokenizer)->is_special(8));
  std::ofstream(folder / "generation_config.json") << R"({"eos_token_id": 999999})";
  EXPECT_FALSE(Tokenizer::from_folder(folder));
  std::filesystem::remove_all(folder);
  EXPECT_EQ(Tokenizer::from_folder(folder).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace ingot::tok
