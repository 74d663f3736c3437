// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json_reader.h"

namespace ingot {
namespace {

using testing::HasSubstr;

std::string refusal(std::string_view text) {
  const auto parsed = parse_json(text, "a.json");
  return parsed.is_ok() ? "parsed" : parsed.status().message();
}

double number_of(std::string_view text) {
  JsonReader reader(text, "a.json");
  const auto token = reader.next();
  EXPECT_TRUE(token.is_ok() && *token == JsonToken::kNumber) << text;
  return reader.number();
}

TEST(Json, ParsesEveryKindOfValue) {
  const auto parsed = parse_json(R"( {"b":[1,-2.5,"x",true,false,null,{}],"a":[]} )", "a.json");
  ASSERT_TRUE(parsed.is_ok()) << parsed.status().message();
  EXPECT_EQ(dump_json(*parsed),
            R"({"b":[1,-2.5,"x",true,false,null,{}],"a":[]})");  // order is kept
  EXPECT_EQ((*parsed)["b"][0].get<int64_t>(), 1);
  EXPECT_EQ(dump_json(*parse_json("3", "a.json")), "3");
}

TEST(Json, RefusesBrokenDocumentsWithTheirOffset) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", "cut off"},
      {" ", "cut off"},
      {"{", "cut off"},
      {"[1,", "cut off"},
      {"[1,]", "expected a value"},
      {"{\"a\":1,}", "expected a key"},
      {"{\"a\"}", "expected ':'"},
      {"{1:2}", "expected a key"},
      {"[1 2]", "expected ','"},
      {"{\"a\":1]", "expected ','"},
      {"1 2", "text after the end"},
      {"{}}", "text after the end"},
      {"\"a", "cut off"},
      {"\"\n\"", "control character"},
      {"\"\\x\"", "unknown escape"},
      {"\"\\u12g4\"", "four hexadecimal"},
      {"\"\\u-123\"", "four hexadecimal"},
      {"\"\\u12", "four hexadecimal"},
      {"\"\\", "cut off"},
      {"'a'", "expected a value"},
      {"\"\xff\"", "invalid UTF-8"},
      {"\"\xed\xa0\x80\"", "invalid UTF-8"},
      {"// x\n1", "expected a value"},
      {"tru", "expected a value"},
      {"]", "expected a value"},
      {"nul", "expected a value"}};
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(refusal(text), HasSubstr(std::string(message))) << text;
    EXPECT_THAT(refusal(text), testing::StartsWith("a.json: JSON at offset ")) << text;
  }
}

TEST(Json, BoundsDepthWithoutRecursion) {
  EXPECT_EQ(refusal(std::string(64, '[') + std::string(64, ']')), "parsed");
  EXPECT_THAT(refusal(std::string(65, '[') + std::string(65, ']')),
              HasSubstr("nested deeper than 64"));
  EXPECT_THAT(refusal(std::string(1'000'000, '[')), HasSubstr("nested deeper than 64"));
  const std::string deep = R"({"a":)" + std::string(100, '[');
  JsonReader skipper(deep, "a.json");
  ASSERT_TRUE(skipper.expect(JsonToken::kBeginObject, "x").is_ok());
  ASSERT_TRUE(*skipper.next_key());
  EXPECT_THAT(skipper.skip_value().message(), HasSubstr("nested deeper"));
}

TEST(Json, BoundsTheNumberOfValues) {
  const auto parsed = parse_json("[1,2,3,4]", "a.json", {.depth = 4, .nodes = 4});
  EXPECT_THAT(parsed.status().message(), HasSubstr("more than 4 values"));
}

TEST(Json, RefusesDuplicateKeysInOneObjectOnly) {
  EXPECT_THAT(refusal(R"({"a":1,"b":2,"a":3})"), HasSubstr("a key stands twice"));
  EXPECT_THAT(refusal(R"([{"x":{"a":1,"\u0061":2}}])"), HasSubstr("a key stands twice"));
  EXPECT_EQ(refusal(R"({"a":{"a":1},"b":{"a":1}})"), "parsed");
}

TEST(Json, IsNotQuadraticInTheNumberOfKeys) {
  std::string text = "{";
  for (int i = 0; i < 200'000; ++i)
    text += fmt::format("{}\"{}\":0", i == 0 ? "" : ",", i);
  const auto parsed = parse_json(text + "}", "a.json");
  ASSERT_TRUE(parsed.is_ok()) << parsed.status().message();
  EXPECT_EQ(parsed->size(), 200'000u);
}

TEST(Json, KeepsIntegersExactlyAndOthersAsDoubles) {
  EXPECT_EQ(parse_json("9223372036854775807", "a")->get<int64_t>(), INT64_MAX);
  EXPECT_EQ(parse_json("-9223372036854775808", "a")->get<int64_t>(), INT64_MIN);
  EXPECT_TRUE(parse_json("9223372036854775808", "a")->is_number_float());
  EXPECT_TRUE(parse_json("1.0", "a")->is_number_float());
  EXPECT_TRUE(parse_json("1e2", "a")->is_number_float());
  for (const char* wrong :
       {"01", "-", "1.", ".5", "1e", "1e+", "+1", "0x10", "--1", "-01", "1.e5"}) {
    EXPECT_NE(refusal(wrong), "parsed") << wrong;
  }
}

TEST(Json, RoundsNumbersPastTheRangeOfDoubles) {
  EXPECT_EQ(number_of("1e400"), INFINITY);
  EXPECT_EQ(number_of("-1e400"), -INFINITY);
  EXPECT_EQ(number_of("1e-400"), 0.0);
  EXPECT_TRUE(std::signbit(number_of("-1e-400")));
  EXPECT_EQ(number_of("0." + std::string(400, '0') + "1"), 0.0);
  EXPECT_EQ(number_of("0." + std::string(400, '0') + "1e2"), 0.0);
  EXPECT_EQ(number_of("1" + std::string(400, '0')), INFINITY);
  EXPECT_EQ(number_of("1" + std::string(800, '0') + "e-100"), INFINITY);
  EXPECT_EQ(number_of("1e99999999999999999999"), INFINITY);
  EXPECT_EQ(number_of("1e-99999999999999999999"), 0.0);
  EXPECT_EQ(number_of("1e-9223372036854775808"), 0.0);
  EXPECT_EQ(number_of("0e400"), 0.0);
}

TEST(Json, ReadsPythonsNotNumbers) {
  EXPECT_EQ(number_of("Infinity"), INFINITY);
  EXPECT_EQ(number_of("-Infinity"), -INFINITY);
  EXPECT_TRUE(std::isnan(number_of("NaN")));
  EXPECT_EQ(refusal(R"({"a":[Infinity,-Infinity,NaN]})"), "parsed");
  EXPECT_NE(refusal("Infinit"), "parsed");
  EXPECT_NE(refusal("-NaN"), "parsed");
}

TEST(Json, DecodesEscapesAndSurrogatePairs) {
  EXPECT_EQ(parse_json(R"("\"\\\/\b\f\n\r\t\u00e9\u20ac\ud83d\ude00 é")", "a")->get<std::string>(),
            "\"\\/\b\f\n\r\t\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80 é");
  EXPECT_EQ(parse_json(R"("a\u0000b")", "a")->get<std::string>(), std::string("a\0b", 3));
  for (const char* half :
       {R"("\ud83d")", R"("\ude00")", R"("\ud83d\ud83d")", R"("\ud83dx")", R"("\ud83d\n")"}) {
    EXPECT_THAT(refusal(half), HasSubstr("half of a surrogate pair")) << half;
  }
}

TEST(Json, DumpsInvalidUtf8WithoutFailing) {
  EXPECT_EQ(dump_json(Json("a\xff")), "\"a\xEF\xBF\xBD\"");
}

TEST(JsonReader, ForgetsTheTextBeforeABrokenString) {
  // Both strings have escapes, so both are decoded into the same buffer, which moves as it grows.
  const std::string text = R"({"a\n":"\n)" + std::string(100, 'x') + "\x01\"}";
  JsonReader json(text, "test");
  ASSERT_TRUE(json.next().is_ok());
  ASSERT_TRUE(json.next_key().value());
  EXPECT_EQ(json.text(), "a\n");
  EXPECT_FALSE(json.next().is_ok());
  EXPECT_EQ(json.text(), "");
}

TEST(JsonReader, WalksObjectsByKey) {
  JsonReader reader(R"({"a":1,"skip":{"b":[1,2,{}]},"s":"x","t":true})", "a.json");
  ASSERT_TRUE(reader.expect(JsonToken::kBeginObject, "root").is_ok());
  ASSERT_TRUE(*reader.next_key());
  EXPECT_EQ(reader.text(), "a");
  EXPECT_EQ(*reader.integer_value("a"), 1);
  ASSERT_TRUE(*reader.next_key());
  EXPECT_TRUE(reader.skip_value().is_ok());
  ASSERT_TRUE(*reader.next_key());
  EXPECT_EQ(*reader.string_value("s"), "x");
  ASSERT_TRUE(*reader.next_key());
  EXPECT_THAT(reader.integer_value("t").status().message(), HasSubstr("'t' has the wrong type"));
  EXPECT_FALSE(*reader.next_key());
  EXPECT_EQ(*reader.next(), JsonToken::kEnd);
  EXPECT_EQ(*reader.next(), JsonToken::kEnd);
}

}  // namespace
}  // namespace ingot
