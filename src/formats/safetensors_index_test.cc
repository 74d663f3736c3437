// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/limits.h"
#include "formats/safetensors.h"

namespace ingot {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string map_of(std::string_view shard) {
  return fmt::format(R"({{"weight_map":{{"w":{}}}}})", shard);
}

TEST(SafetensorsIndex, MapsTensorsToShards) {
  const auto index = parse_safetensors_index(
      R"({"metadata":{"total_size":-7,"deep":[[{}]]},"weight_map":{"b":"m-2.safetensors","a":"m-1.safetensors","c":"m-2.safetensors"}})",
      "index.json");
  ASSERT_TRUE(index.is_ok()) << index.status().message();
  EXPECT_EQ(index->weight_map.at("b"), "m-2.safetensors");
  EXPECT_THAT(index->shard_names(), ElementsAre("m-1.safetensors", "m-2.safetensors"));
}

TEST(SafetensorsIndex, RefusesNamesThatLeaveTheFolder) {
  for (const char* shard :
       {R"("../x.safetensors")", R"("../../x.safetensors")", R"("/etc/x.safetensors")",
        R"("a/b.safetensors")", R"("a\\b.safetensors")", R"("..\\x.safetensors")", R"("..")",
        R"(".")", R"("")", R"(".safetensors")", R"("model.bin")", R"("\u002e\u002e/x.safetensors")",
        R"("a\u0000b.safetensors")", R"("a\nb.safetensors")", "1", "null", "{}", "[]"}) {
    const auto index = parse_safetensors_index(map_of(shard), "index.json");
    ASSERT_FALSE(index.is_ok()) << shard;
    EXPECT_THAT(index.status().message(), HasSubstr("index.json: JSON at offset"));
    EXPECT_THAT(index.status().message(), HasSubstr("tensor 'w'"));
  }
  const std::string long_name = "\"" + std::string(300, 'a') + ".safetensors\"";
  EXPECT_FALSE(parse_safetensors_index(map_of(long_name), "index.json").is_ok());
}

TEST(SafetensorsIndex, RefusesBrokenDocuments) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "cut off"},
      {"[]", "wrong type"},
      {"{}", "names no tensors"},
      {R"({"weight_map":{}})", "names no tensors"},
      {R"({"weight_map":[]})", "wrong type"},
      {R"({"weight_map":{"a":"x.safetensors"},"weight_map":{"a":"x.safetensors"}})",
       "weight_map stands twice"},
      {R"({"weight_map":{"a":"x.safetensors","a":"x.safetensors"}})", "tensor 'a' stands twice"},
      {R"({"weight_map":{"a":"x.safetensors"}} x)", "text after the end"},
      {R"({"x":)" + std::string(100, '[') + "}", "nested deeper than 64"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_THAT(parse_safetensors_index(text, "index.json").status().message(), HasSubstr(message))
        << text;
  }
}

TEST(SafetensorsIndex, RefusesMoreTensorsThanTheLimit) {
  std::string text = R"({"weight_map":{)";
  for (size_t i = 0; i <= limits::kSafetensorsIndexTensors; ++i) {
    text += fmt::format(R"({}"{}":"a.safetensors")", i == 0 ? "" : ",", i);
  }
  EXPECT_THAT(parse_safetensors_index(text + "}}", "index.json").status().message(),
              HasSubstr("more than 500000 tensors"));
}

}  // namespace
}  // namespace ingot
