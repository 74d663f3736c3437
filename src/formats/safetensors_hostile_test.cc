// SPDX-License-Identifier: Apache-2.0
// Broken safetensors files, one for each thing that can be wrong: each is refused with file and
// field.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/limits.h"
#include "formats/safetensors_test_bytes.h"

namespace ingot {
namespace {

using testing::HasSubstr;

struct HostileCase {
  std::string name;
  std::string header;
  size_t data_bytes;
  std::string message;
};

std::string tensor(std::string_view dtype, std::string_view shape, std::string_view offsets) {
  return fmt::format(R"({{"w":{{"dtype":"{}","shape":{},"data_offsets":{}}}}})", dtype, shape,
                     offsets);
}

void expect_refused(const std::vector<HostileCase>& cases) {
  for (const HostileCase& hostile : cases) {
    SCOPED_TRACE(hostile.name);
    const std::string bytes = safetensors_bytes(hostile.header, hostile.data_bytes);
    const auto file = parse_safetensors(bytes);
    ASSERT_FALSE(file.is_ok());
    EXPECT_THAT(file.status().message(), HasSubstr(hostile.message));
    EXPECT_THAT(file.status().message(), testing::StartsWith("model.safetensors: "));
    EXPECT_LT(file.status().message().size(), 500u);
  }
}

TEST(SafetensorsHostile, RefusesHeadersThatAreNotOne) {
  expect_refused({
      {"empty header", "", 0, "header at offset 8: does not begin with '{'"},
      {"leading space", " {}", 0, "does not begin with '{'"},
      {"array", "[]", 0, "does not begin with '{'"},
      {"not closed", "{", 0, "cut off"},
      {"text after the object", "{}x", 0, "text after the end"},
      {"NUL padding", std::string("{}\0\0", 4), 0, "text after the end"},
      {"two objects", "{}{}", 0, "text after the end"},
      {"not UTF-8", "{\"\xff\":1}", 0, "invalid UTF-8"},
      {"half a surrogate", R"({"\ud800":1})", 0, "surrogate"},
      {"tensor is a number", R"({"w":5})", 0,
       "tensor 'w' at offset 13: must be described by an object"},
      {"nested too deep", R"({"w":{"shape":[[[1]]]}})", 0, "shape must hold numbers only"},
      {"deep metadata", R"({"__metadata__":{"a":{}}})", 0, "wrong type"},
      {"metadata number", R"({"__metadata__":{"a":1}})", 0, "wrong type"},
      {"metadata string", R"({"__metadata__":"a"})", 0, "wrong type"},
      {"metadata twice", R"({"__metadata__":{},"__metadata__":{}})", 0,
       "__metadata__ stands twice"},
      {"metadata key twice", R"({"__metadata__":{"a":"","a":""}})", 0,
       "a key of __metadata__ stands twice"},
      {"name too long", "{\"" + std::string(65'536, 'n') + "\":{}}", 0,
       "a tensor name of 65536 bytes"},
  });
}

TEST(SafetensorsHostile, RefusesBrokenTensors) {
  const std::string name_twice =
      R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"w":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})";
  expect_refused({
      {"unknown dtype", tensor("F12", "[1]", "[0,1]"), 1,
       "tensor 'w' at offset 13: dtype 'F12' is unknown"},
      {"lower-case dtype", tensor("f32", "[1]", "[0,4]"), 4, "dtype 'f32' is unknown"},
      {"FNUZ", tensor("F8_E4M3FNUZ", "[1]", "[0,1]"), 1, "FNUZ kind of fp8"},
      {"FNUZ 2", tensor("F8_E5M2FNUZ", "[1]", "[0,1]"), 1, "FNUZ kind of fp8"},
      {"dtype is a number", R"({"w":{"dtype":1,"shape":[1],"data_offsets":[0,1]}})", 1,
       "dtype must be a string"},
      {"dtype twice", R"({"w":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1,
       "dtype stands twice"},
      {"shape twice", R"({"w":{"dtype":"U8","shape":[1],"shape":[1],"data_offsets":[0,1]}})", 1,
       "shape stands twice"},
      {"unknown field", R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1}})", 1,
       "unknown field 'x'"},
      {"no offsets", R"({"w":{"dtype":"U8","shape":[1]}})", 1,
       "needs dtype, shape and data_offsets"},
      {"no fields", R"({"w":{}})", 0, "needs dtype, shape and data_offsets"},
      {"negative dimension", tensor("U8", "[-1]", "[0,1]"), 1, "shape holds '-1'"},
      {"fraction", tensor("U8", "[1.5]", "[0,1]"), 1, "shape holds '1.5'"},
      {"dimension past 2^63", tensor("U8", "[9223372036854775808]", "[0,1]"), 1, "shape holds"},
      {"dimension is a string", tensor("U8", R"(["1"])", "[0,1]"), 1,
       "shape must hold numbers only"},
      {"shape is a number", tensor("U8", "1", "[0,1]"), 1, "shape must be an array"},
      {"nine dimensions", tensor("U8", "[1,1,1,1,1,1,1,1,1]", "[0,1]"), 1,
       "more than 8 dimensions"},
      {"product wraps", tensor("U8", "[4294967296,4294967296]", "[0,0]"), 0, "overflows"},
      {"product wraps to the size", tensor("U8", "[3,6148914691236517206]", "[0,2]"), 2,
       "overflows"},
      {"bytes wrap", tensor("F64", "[2305843009213693953]", "[0,8]"), 8, "overflows"},
      {"empty tensor with a row that wraps", tensor("F64", "[0,4611686018427387904]", "[0,0]"), 0,
       "overflows"},
      {"empty tensor with rows that wrap",
       tensor("U8", "[4294967296,4294967296,4294967296,0]", "[0,0]"), 0, "overflows"},
      {"half a byte", tensor("F4", "[3]", "[0,2]"), 2, "rows of 3 values of F4"},
      {"rows of half a byte", tensor("F4", "[2,3]", "[0,3]"), 3, "do not fill whole bytes"},
      {"six bits", tensor("F6_E2M3", "[2]", "[0,2]"), 2, "do not fill whole bytes"},
      {"size and shape differ", tensor("F32", "[2]", "[0,4]"), 4,
       "shape [2] of F32 needs 8 bytes but data_offsets [0, 4] hold 4"},
      {"scalar of no bytes", tensor("F32", "[]", "[0,0]"), 0, "needs 4 bytes"},
      {"reversed offsets", tensor("U8", "[1]", "[1,0]"), 1, "data_offsets [1, 0] are reversed"},
      {"one offset", tensor("U8", "[1]", "[0]"), 1, "data_offsets must be two numbers"},
      {"three offsets", tensor("U8", "[1]", "[0,1,2]"), 1, "data_offsets must be two numbers"},
      {"negative offset", tensor("U8", "[1]", "[-1,0]"), 1, "data_offsets holds '-1'"},
      {"offsets past the file", tensor("U8", "[2]", "[0,2]"), 1, "end past the 1 bytes of data"},
      {"huge offset", tensor("U8", "[1]", "[9223372036854775806,9223372036854775807]"), 1,
       "end past"},
      {"name twice", name_twice, 2, "tensor 'w' stands twice"},
  });
}

TEST(SafetensorsHostile, RefusesDataThatIsNotExactlyTheTensors) {
  const auto two = [](std::string_view first, std::string_view second) {
    return fmt::format(
        R"({{"a":{{"dtype":"U8","shape":[2],"data_offsets":{}}},"b":{{"dtype":"U8","shape":[2],"data_offsets":{}}}}})",
        first, second);
  };
  expect_refused({
      {"hole in front", tensor("U8", "[1]", "[1,2]"), 2, "leaves a hole"},
      {"hole between", two("[0,2]", "[3,5]"), 5, "tensor 'b' at offset"},
      {"overlap", two("[0,2]", "[1,3]"), 3, "overlaps the tensor that ends at offset"},
      {"same data", two("[0,2]", "[0,2]"), 2, "overlaps"},
      {"tail", tensor("U8", "[1]", "[0,1]"), 2, "1 bytes belong to no tensor"},
      {"data without tensors", "{}", 100, "100 bytes belong to no tensor"},
  });
  const std::string zip = safetensors_bytes(tensor("U8", "[1]", "[0,1]"), 1) + "PK\x05\x06";
  EXPECT_FALSE(parse_safetensors(zip).is_ok());
}

TEST(SafetensorsHostile, RefusesHeaderLengthsPastLimitOrFile) {
  for (const uint64_t length :
       {uint64_t{3}, limits::kSafetensorsHeaderBytes, limits::kSafetensorsHeaderBytes + 1,
        uint64_t{1} << 31, uint64_t{1} << 63, UINT64_MAX}) {
    std::string bytes = safetensors_bytes("{}", 0);
    std::memcpy(bytes.data(), &length, sizeof(length));
    const auto file = parse_safetensors(bytes);
    ASSERT_FALSE(file.is_ok()) << length;
    EXPECT_THAT(file.status().message(), HasSubstr("header"));
    EXPECT_THAT(file.status().message(), HasSubstr("at offset"));
  }
}

TEST(SafetensorsHostile, RefusesMoreTensorsOrMetadataThanTheLimits) {
  std::string tensors = "{";
  for (size_t i = 0; i <= limits::kSafetensorsTensors; ++i) {
    tensors += fmt::format(R"({}"{:x}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
                           i == 0 ? "" : ",", i);
  }
  EXPECT_THAT(parse_safetensors(safetensors_bytes(tensors + "}", 0)).status().message(),
              HasSubstr("more than 262144 tensors"));
  std::string metadata = R"({"__metadata__":{)";
  for (size_t i = 0; i <= limits::kSafetensorsMetadataEntries; ++i) {
    metadata += fmt::format(R"({}"{:x}":"")", i == 0 ? "" : ",", i);
  }
  EXPECT_THAT(parse_safetensors(safetensors_bytes(metadata + "}}", 0)).status().message(),
              HasSubstr("__metadata__ holds more than 65536 entries"));
}

std::string small_file() {
  return safetensors_bytes(
      R"({"__metadata__":{"k":"v"},"a\u0041":{"dtype":"F16","shape":[2,3],"data_offsets":[0,12]},)"
      R"("b":{"dtype":"F4","shape":[4],"data_offsets":[12,14]}} )",
      14);
}

size_t touch(const SafetensorsFile& file) {
  size_t sum = 0;
  for (const TensorEntry& entry : file.tensors()) {
    sum += entry.tensor.rows() + entry.tensor.row_bytes();
    for (const std::byte byte : entry.tensor.bytes)
      sum += static_cast<size_t>(byte);
  }
  return sum;
}

TEST(SafetensorsHostile, RefusesEveryCut) {
  const std::string whole = small_file();
  ASSERT_TRUE(parse_safetensors(whole).is_ok());
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(parse_safetensors(whole.substr(0, size)).is_ok()) << size;
  }
}

TEST(SafetensorsHostile, SurvivesEveryChangedByte) {
  const std::string whole = small_file();
  for (size_t at = 0; at < whole.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(value);
      if (const auto file = parse_safetensors(bytes); file.is_ok()) touch(**file);
    }
  }
}

// The same property as for GGUF: the size is that of wide arithmetic, or the file is refused.
TEST(SafetensorsHostile, SizesAreThoseOf128BitArithmeticOrRefused) {
  __extension__ using Wide = unsigned __int128;
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937_64 random(seed);
  const std::string data(64, 'x');
  int accepted = 0;
  for (int round = 0; round < 100'000; ++round) {
    const auto layout = static_cast<Layout>(random() % kLayoutCount);
    const auto dtype = safetensors_dtype_of_layout(layout);
    if (!dtype) continue;
    const LayoutInfo& layout_info = info(layout);
    std::string shape;
    Wide elements = 1;
    uint64_t last = 1;
    const uint64_t rank = random() % 5;
    const bool is_tame = random() % 2 == 0;
    bool has_zero = false;
    for (uint64_t i = 0; i < rank; ++i) {
      last = is_tame ? random() % 5 : (random() >> (1 + random() % 63));
      shape += fmt::format("{}{}", i == 0 ? "" : ",", last);
      has_zero = has_zero || last == 0;
      elements *= std::max<uint64_t>(last, 1);
      if (elements >> 64 != 0) elements = Wide{1} << 64;  // stays too large
    }
    const Wide size =
        has_zero ? 0 : elements / layout_info.block_elements * layout_info.block_bytes;
    const uint64_t stored = size <= 64 ? static_cast<uint64_t>(size) : random() % 65;
    const bool fits = elements * layout_info.block_bytes >> 64 == 0;
    const bool is_valid = size == stored && last % layout_info.block_elements == 0 && fits;
    const std::string header = tensor(*dtype, "[" + shape + "]", fmt::format("[0,{}]", stored));
    const std::string bytes = safetensors_bytes(header, stored);
    const auto file = parse_safetensors(bytes);
    ASSERT_EQ(file.is_ok(), is_valid) << header << file.status().message();
    accepted += is_valid ? 1 : 0;
  }
  EXPECT_GT(accepted, 1000);
}

}  // namespace
}  // namespace ingot
