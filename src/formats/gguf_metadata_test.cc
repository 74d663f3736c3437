// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/gguf_test_bytes.h"

namespace ingot {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

GgufBytes every_type() {
  GgufBytes bytes;
  bytes.header(0, 18);
  bytes.key("u8", GgufType::kUint8).put<uint8_t>(255);
  bytes.key("i8", GgufType::kInt8).put<int8_t>(-128);
  bytes.key("u16", GgufType::kUint16).put<uint16_t>(65535);
  bytes.key("i16", GgufType::kInt16).put<int16_t>(-32768);
  bytes.key("u32", GgufType::kUint32).put<uint32_t>(0xFFFFFFFF);
  bytes.key("i32", GgufType::kInt32).put<int32_t>(INT32_MIN);
  bytes.key("u64", GgufType::kUint64).put<uint64_t>(INT64_MAX);
  bytes.key("u64.large", GgufType::kUint64).put<uint64_t>(UINT64_MAX);
  bytes.key("i64", GgufType::kInt64).put<int64_t>(INT64_MIN);
  bytes.key("f32", GgufType::kFloat32).put(1.25f);
  bytes.key("f64", GgufType::kFloat64).put(1e300);
  bytes.key("bool", GgufType::kBool).put<uint8_t>(0);
  bytes.key("string", GgufType::kString).text("x");
  bytes.array("bools", GgufType::kBool, 3).put<uint8_t>(1).put<uint8_t>(0).put<uint8_t>(1);
  bytes.array("f64s", GgufType::kFloat64, 2).put(0.5).put(2.0);
  bytes.array("u64s", GgufType::kUint64, 2).put<uint64_t>(1).put<uint64_t>(UINT64_MAX);
  bytes.array("empty", GgufType::kString, 0);
  bytes.array("many", GgufType::kInt8, 9).raw(std::string(9, '\7'));
  return bytes;
}

TEST(GgufMetadata, ReadsEveryTypeByValue) {
  const GgufBytes bytes = every_type();
  const auto file = bytes.parse();
  ASSERT_TRUE(file.is_ok()) << file.status().message();
  const GgufMetadata& metadata = (*file)->metadata();
  EXPECT_EQ(*metadata.integer("u8"), 255);
  EXPECT_EQ(*metadata.integer("i8"), -128);
  EXPECT_EQ(*metadata.integer("u16"), 65535);
  EXPECT_EQ(*metadata.integer("i16"), -32768);
  EXPECT_EQ(*metadata.integer("u32"), 0xFFFFFFFF);
  EXPECT_EQ(*metadata.integer("i32"), INT32_MIN);
  EXPECT_EQ(*metadata.integer("u64"), INT64_MAX);
  EXPECT_EQ(*metadata.integer("i64"), INT64_MIN);
  EXPECT_EQ(*metadata.number("f32"), 1.25);
  EXPECT_EQ(*metadata.number("f64"), 1e300);
  EXPECT_EQ(*metadata.boolean("bool"), false);
  EXPECT_EQ(*metadata.string("string"), "x");
  EXPECT_THAT(*metadata.integers("bools"), ElementsAre(1, 0, 1));
  EXPECT_THAT(*metadata.integers("u16"), ElementsAre(65535));
  EXPECT_THAT(*metadata.numbers("f64s"), ElementsAre(0.5f, 2.0f));
  EXPECT_TRUE(metadata.strings("empty")->empty());
}

TEST(GgufMetadata, NamesKeyAndTypesWhenTheTypeIsAnother) {
  const GgufBytes bytes = every_type();
  const auto file = bytes.parse();
  const GgufMetadata& metadata = (*file)->metadata();
  const auto message = [](const auto& result) { return result.status().message(); };
  EXPECT_THAT(message(metadata.string("u8")), HasSubstr("model.gguf: key 'u8' at offset"));
  EXPECT_THAT(message(metadata.string("u8")), HasSubstr("is u8; must be a string"));
  EXPECT_THAT(message(metadata.integer("f32")), HasSubstr("is f32; must be an integer"));
  EXPECT_THAT(message(metadata.integer("bools")), HasSubstr("is an array of bool"));
  EXPECT_THAT(message(metadata.integer("bool")), HasSubstr("is bool"));
  EXPECT_THAT(message(metadata.integer("u64.large")), HasSubstr("below 2^63"));
  EXPECT_THAT(message(metadata.integers("u64s")), HasSubstr("below 2^63"));
  EXPECT_THAT(message(metadata.number("u8")), HasSubstr("is u8"));
  EXPECT_THAT(message(metadata.boolean("u8")), HasSubstr("must be a bool"));
  EXPECT_THAT(message(metadata.strings("string")), HasSubstr("must be an array of string"));
  EXPECT_THAT(message(metadata.integers("string")), HasSubstr("is string"));
  EXPECT_THAT(message(metadata.numbers("f32")), HasSubstr("is f32"));
  EXPECT_EQ(metadata.integer("absent").status().code(), StatusCode::kNotFound);
  EXPECT_THAT(message(metadata.integer("absent")), HasSubstr("model.gguf: no key 'absent'"));
}

TEST(GgufMetadata, DescribesValuesForPeople) {
  const GgufBytes bytes = every_type();
  const auto file = bytes.parse();
  const GgufMetadata& metadata = (*file)->metadata();
  EXPECT_EQ(metadata.keys().size(), 18u);
  EXPECT_EQ(metadata.keys()[2], "u16");
  EXPECT_EQ(metadata.describe("i8"), "-128");
  EXPECT_EQ(metadata.describe("u64.large"), "18446744073709551615");
  EXPECT_EQ(metadata.describe("string"), "'x'");
  EXPECT_EQ(metadata.describe("bools"), "bool[3] = [true, false, true]");
  EXPECT_EQ(metadata.describe("many"), "i8[9] = [7, 7, 7, 7, 7, 7, 7, 7, ...]");
  EXPECT_EQ(metadata.describe("absent"), "");
}

TEST(GgufMetadata, KeepsAVocabularyOfAQuarterMillionStrings) {
  constexpr uint64_t kCount = 262'144;
  GgufBytes bytes;
  bytes.header(0, 1).array("tokenizer.ggml.tokens", GgufType::kString, kCount);
  for (uint64_t i = 0; i < kCount; ++i)
    bytes.text(std::to_string(i));
  const auto file = bytes.parse();
  ASSERT_TRUE(file.is_ok()) << file.status().message();
  const auto tokens = (*file)->metadata().strings("tokenizer.ggml.tokens");
  ASSERT_TRUE(tokens.is_ok());
  ASSERT_EQ(tokens->size(), kCount);
  EXPECT_EQ((*tokens)[262'143], "262143");
}

// A file that is rewritten while mapped must not lead outside of it.
TEST(GgufMetadata, ChecksStringLengthsAgainWhenTheyAreRead) {
  GgufBytes bytes;
  bytes.header(0, 1).array("tokens", GgufType::kString, 2).text("aaaa").text("b");
  const auto file = bytes.parse();
  ASSERT_TRUE(file.is_ok());
  bytes.data[bytes.data.size() - 13 - 8] = '\x7F';  // the low byte of the first length
  EXPECT_FALSE((*file)->metadata().strings("tokens").is_ok());
  EXPECT_EQ((*file)->metadata().describe("tokens").substr(0, 9), "string[2]");
}

}  // namespace
}  // namespace ingot
