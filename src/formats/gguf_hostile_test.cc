// SPDX-License-Identifier: Apache-2.0
// Broken GGUF files, one for each thing that can be wrong: each is refused with file, field and
// offset.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <random>

#include "base/limits.h"
#include "formats/gguf_test_bytes.h"

namespace ingot {
namespace {

using testing::HasSubstr;

struct HostileCase {
  std::string name;
  GgufBytes bytes;
  std::string message;  // a part of what the refusal must say
};

GgufBytes with_key(std::string_view name, GgufType type) {
  return GgufBytes().header(0, 1).key(name, type);
}

GgufBytes with_tensor(std::initializer_list<uint64_t> dims, uint32_t type, uint64_t offset,
                      size_t data) {
  return GgufBytes().header(1, 0).tensor("blk.0.w", dims, type, offset).pad().zeros(data);
}

GgufBytes with_alignment(uint32_t alignment) {
  return with_key("general.alignment", GgufType::kUint32).put(alignment);
}

std::vector<HostileCase> header_cases() {
  return {
      {"empty", GgufBytes(), "magic at offset 0: needs 4 bytes"},
      {"other magic", GgufBytes().raw("GGML").zeros(60), "magic at offset 0: not a GGUF file"},
      {"no version", GgufBytes().raw("GGUF"), "version at offset 4"},
      {"version 0", GgufBytes().header(0, 0, 0), "version at offset 4: GGUF version 0"},
      {"version 1", GgufBytes().header(0, 0, 1), "version 1 is obsolete"},
      {"version 4", GgufBytes().header(0, 0, 4), "GGUF version 4"},
      {"big-endian", GgufBytes().header(0, 0, 0x03000000), "big-endian"},
      {"tensor count past the limit", GgufBytes().header(1'000'001, 0),
       "tensor count at offset 8: 1000001, more"},
      {"tensor count of all ones", GgufBytes().header(UINT64_MAX, 0), "tensor count at offset 8"},
      {"tensor count past the file", GgufBytes().header(3, 0).zeros(98),
       "tensor count at offset 8: 3 cannot fit"},
      {"key count past the limit", GgufBytes().header(0, 65'537),
       "key-value count at offset 16: 65537, more"},
      {"key count of 32 ones", GgufBytes().header(0, 0xFFFFFFFF), "key-value count at offset 16"},
      {"key count past the file", GgufBytes().header(0, 2).zeros(27),
       "key-value count at offset 16: 2 cannot fit"},
  };
}

std::vector<HostileCase> key_cases() {
  const std::string long_name(65'536, 'k');
  return {
      {"empty key", with_key("", GgufType::kUint8).zeros(2),
       "key 0 at offset 24: the name is empty"},
      {"key too long", with_key(long_name, GgufType::kUint8).put<uint8_t>(1),
       "the name has 65536 bytes"},
      {"key length of all ones", GgufBytes().header(0, 1).put(UINT64_MAX).zeros(8),
       "key 0 at offset 24: the name has"},
      {"key cut off", GgufBytes().header(0, 1).put<uint64_t>(20).zeros(10),
       "needs 20 bytes but only 10"},
      {"key with NUL", with_key(std::string_view("a\0b", 3), GgufType::kUint8).put<uint8_t>(1),
       "control character"},
      {"key with escape", with_key("a\x1b[2J", GgufType::kUint8).put<uint8_t>(1),
       "control character"},
      {"key not UTF-8", with_key("a\xff", GgufType::kUint8).put<uint8_t>(1), "not valid UTF-8"},
      {"key twice",
       GgufBytes()
           .header(0, 2)
           .key("a", GgufType::kUint8)
           .put<uint8_t>(1)
           .key("a", GgufType::kUint8)
           .put<uint8_t>(2),
       "key 'a' at offset 38: the key stands twice"},
      {"unknown value type", with_key("a", static_cast<GgufType>(13)).zeros(8),
       "key 'a' at offset 33: value type 13"},
      {"value type of all ones", with_key("a", static_cast<GgufType>(UINT32_MAX)).zeros(8),
       "value type 4294967295"},
      {"value cut off", with_key("abc", GgufType::kUint64).zeros(7),
       "key 'abc' at offset 39: needs 8 bytes"},
      {"bool of 2", with_key("a", GgufType::kBool).put<uint8_t>(2),
       "key 'a' at offset 37: a bool is 2"},
      {"string past the limit",
       with_key("a", GgufType::kString).put<uint64_t>(16 * 1024 * 1024 + 1).zeros(9),
       "key 'a' at offset 37: a string of 16777217 bytes"},
      {"string length SIZE_MAX", with_key("a", GgufType::kString).put(UINT64_MAX).zeros(9),
       "a string of 184467"},
      {"string cut off", with_key("a", GgufType::kString).put<uint64_t>(10).zeros(9),
       "needs 10 bytes but only 9"},
      {"string length cut off", with_key("a", GgufType::kString).zeros(7),
       "key 'a' at offset 37: needs 8 bytes"},
  };
}

std::vector<HostileCase> array_cases() {
  const auto array = [](GgufType type, uint64_t count) {
    return GgufBytes().header(0, 1).array("a", type, count);
  };
  return {
      {"nested array", array(GgufType::kArray, 1).zeros(32),
       "key 'a' at offset 37: an array inside an array"},
      {"unknown element type", array(static_cast<GgufType>(99), 1).zeros(8), "value type 99"},
      {"element count past the limit", array(GgufType::kUint8, 16 * 1024 * 1024 + 1).zeros(8),
       "16777217 elements, more"},
      {"element count of all ones", array(GgufType::kUint64, UINT64_MAX).zeros(8),
       "elements, more than"},
      {"element count past the file", array(GgufType::kUint32, 3).zeros(11),
       "3 elements cannot fit into the 11 bytes"},
      {"string count past the file", array(GgufType::kString, 3).zeros(23),
       "3 elements cannot fit"},
      {"string in array too long", array(GgufType::kString, 2).text("x").put(UINT64_MAX),
       "a string of 184467"},
      {"string in array cut off", array(GgufType::kString, 2).text("x").put<uint64_t>(5).zeros(4),
       "key 'a'"},
      {"bool array with 3",
       array(GgufType::kBool, 3).put<uint8_t>(0).put<uint8_t>(3).put<uint8_t>(1),
       "key 'a' at offset 50: a bool is 3"},
      {"count cut off",
       GgufBytes().header(0, 1).key("a", GgufType::kArray).put(GgufType::kUint8).zeros(7),
       "key 'a'"},
  };
}

std::vector<HostileCase> alignment_cases() {
  std::vector<HostileCase> cases;
  for (const uint32_t alignment :
       {0u, 1u, 3u, 4u, 7u, 24u, 33u, 131072u, 1u << 20, 1u << 30, 1u << 31, UINT32_MAX}) {
    cases.push_back(
        {fmt::format("alignment {}", alignment), with_alignment(alignment),
         fmt::format("key 'general.alignment' at offset 53: {} is not a power of two", alignment)});
  }
  cases.push_back({"alignment as i32",
                   with_key("general.alignment", GgufType::kInt32).put<int32_t>(32),
                   "key 'general.alignment' at offset 53: is i32; must be u32"});
  cases.push_back({"alignment as u64",
                   with_key("general.alignment", GgufType::kUint64).put<uint64_t>(32), "is u64"});
  cases.push_back({"alignment as string",
                   with_key("general.alignment", GgufType::kString).text("32"), "is string"});
  cases.push_back(
      {"alignment as array",
       GgufBytes().header(0, 1).array("general.alignment", GgufType::kUint32, 1).put<uint32_t>(32),
       "is an array of u32"});
  return cases;
}

std::vector<HostileCase> tensor_cases() {
  std::vector<HostileCase> cases = {
      {"no name", GgufBytes().header(1, 0).tensor("", {1}, 0, 0).zeros(99),
       "tensor 0 at offset 24: the name is empty"},
      {"name not UTF-8", GgufBytes().header(1, 0).tensor("\xc0\x80", {1}, 0, 0).zeros(99),
       "not valid UTF-8"},
      {"name with newline", GgufBytes().header(1, 0).tensor("a\nb", {1}, 0, 0).zeros(99),
       "control character"},
      {"name past the file", GgufBytes().header(1, 0).put<uint64_t>(60'000).zeros(99),
       "needs 60000 bytes"},
      {"name twice",
       GgufBytes().header(2, 0).tensor("w", {1}, 0, 0).tensor("w", {1}, 0, 32).pad().zeros(64),
       "tensor 'w' at offset 57: the name is taken by the tensor at offset 24"},
      {"no dimensions", with_tensor({}, 0, 0, 64), "tensor 'blk.0.w' at offset 39: 0 dimensions"},
      {"five dimensions", with_tensor({1, 1, 1, 1, 1}, 0, 0, 64), "5 dimensions; must be 1 to 4"},
      {"255 dimensions", GgufBytes().header(1, 0).text("w").put<uint32_t>(255).zeros(4096),
       "255 dimensions"},
      {"zero dimension", with_tensor({4, 0, 2}, 0, 0, 64),
       "tensor 'blk.0.w' at offset 51: dimension 1 is zero"},
      {"negative dimension", with_tensor({static_cast<uint64_t>(-1)}, 0, 0, 64), "overflows"},
      {"negative byte dimension", with_tensor({static_cast<uint64_t>(-1)}, 24, 0, 64),
       "end past the"},
      {"product wraps to zero", with_tensor({1ull << 32, 1ull << 32}, 24, 0, 64), "overflows"},
      {"product wraps to one", with_tensor({3, 0xAAAAAAAAAAAAAAABull}, 24, 0, 64), "overflows"},
      {"bytes wrap", with_tensor({1ull << 62}, 0, 0, 64), "overflows"},
      {"exabyte tensor", with_tensor({1ull << 60}, 24, 0, 64),
       "its 1152921504606846976 bytes at data offset 0 end past"},
      {"half a block", with_tensor({33}, 2, 0, 64),
       "rows of 33 values do not fill whole blocks of 32 (Q4_0)"},
      {"rows that fill blocks only together", with_tensor({128, 2}, 12, 0, 288),
       "rows of 128 values"},
      {"unaligned offset", with_tensor({1}, 0, 4, 64),
       "data offset 4 is not a multiple of the alignment 32"},
      {"offset past the file", with_tensor({1}, 0, 64, 64), "end past the 128 bytes of the file"},
      {"offset wraps", with_tensor({64}, 0, UINT64_MAX - 31, 64), "end past"},
      {"size four times the file", with_tensor({256}, 0, 0, 256),
       "its 1024 bytes at data offset 0 end past"},
      {"one byte short", with_tensor({16}, 0, 0, 63), "download it again"},
      {"no data at all", GgufBytes().header(1, 0).tensor("w", {1}, 0, 0),
       "tensor data at offset 57: needs 7 bytes"},
      {"record cut off",
       GgufBytes().header(1, 0).text("a-rather-long-name").put<uint32_t>(1).zeros(7),
       "tensor 'a-rather-long-name' at offset 54: needs 8 bytes but only 7"},
      {"overlap",
       GgufBytes().header(2, 0).tensor("a", {16}, 0, 0).tensor("b", {8}, 0, 32).pad().zeros(64),
       "tensor 'b' at offset 57: its data offset 32 lies in the 64 bytes of 'a' at data offset 0"},
      {"same data twice",
       GgufBytes().header(2, 0).tensor("a", {8}, 0, 0).tensor("b", {8}, 0, 0).pad().zeros(64),
       "tensor 'b' at offset 57: its data offset 0 lies in"},
      {"sum of sizes wraps",
       GgufBytes()
           .header(2, 0)
           .tensor("a", {1ull << 63}, 24, 0)
           .tensor("b", {(1ull << 63) + 64}, 24, 1ull << 63)
           .pad()
           .zeros(64),
       "tensor 'a' at offset 24"},
  };
  for (const uint32_t type : {4u, 5u, 31u, 32u, 33u, 36u, 37u, 38u}) {
    cases.push_back({fmt::format("removed type {}", type), with_tensor({256}, type, 0, 512),
                     fmt::format("tensor 'blk.0.w' at offset 51: tensor type {} (", type)});
  }
  for (const uint32_t type : {43u, 255u, 1u << 31, UINT32_MAX}) {
    cases.push_back({fmt::format("unknown type {}", type), with_tensor({256}, type, 0, 512),
                     fmt::format("tensor type {} is unknown", type)});
  }
  return cases;
}

void expect_refused(const std::vector<HostileCase>& cases) {
  for (const HostileCase& hostile : cases) {
    SCOPED_TRACE(hostile.name);
    const auto file = hostile.bytes.parse();
    ASSERT_FALSE(file.is_ok());
    EXPECT_THAT(file.status().message(), HasSubstr(hostile.message));
    EXPECT_THAT(file.status().message(), testing::StartsWith("model.gguf: "));
    EXPECT_THAT(file.status().message(), HasSubstr(" at offset "));
    EXPECT_LT(file.status().message().size(), 500u);
  }
}

TEST(GgufHostile, RefusesBrokenHeaders) {
  expect_refused(header_cases());
}
TEST(GgufHostile, RefusesBrokenKeyValues) {
  expect_refused(key_cases());
}
TEST(GgufHostile, RefusesBrokenArrays) {
  expect_refused(array_cases());
}
TEST(GgufHostile, RefusesBrokenAlignments) {
  expect_refused(alignment_cases());
}
TEST(GgufHostile, RefusesBrokenTensors) {
  expect_refused(tensor_cases());
}

// Uses all that a file gives away, so that a view that leaves it would be seen by the sanitizers.
size_t touch(const GgufFile& file) {
  size_t sum = 0;
  const GgufMetadata& metadata = file.metadata();
  for (const std::string_view key : metadata.keys()) {
    sum += metadata.describe(key).size();
    if (const auto strings = metadata.strings(key); strings.is_ok()) {
      for (const std::string_view text : *strings)
        sum += text.empty() ? 0 : static_cast<uint8_t>(text.back());
    }
    if (const auto integers = metadata.integers(key); integers.is_ok()) sum += integers->size();
    if (const auto numbers = metadata.numbers(key); numbers.is_ok()) sum += numbers->size();
  }
  for (const TensorEntry& entry : file.tensors()) {
    sum += static_cast<size_t>(entry.tensor.bytes.front()) +
           static_cast<size_t>(entry.tensor.bytes.back());
    sum += entry.tensor.rows() + entry.tensor.row_bytes();
  }
  return sum;
}

TEST(GgufHostile, RefusesEveryCut) {
  const std::string whole = small_gguf().data;
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::string cut = whole.substr(0, size);
    EXPECT_FALSE(GgufBytes::parse_gguf(cut).is_ok()) << size;
  }
}

TEST(GgufHostile, SurvivesEveryFlippedBit) {
  std::string bytes = small_gguf().data;
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    const auto mask = static_cast<char>(1 << (bit % 8));
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ mask);
    if (const auto file = GgufBytes::parse_gguf(bytes); file.is_ok()) touch(**file);
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ mask);
  }
  EXPECT_EQ(bytes, small_gguf().data);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMeasuresMemory = false;
#elif defined(__has_feature)
constexpr bool kMeasuresMemory =
    !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer);
#else
constexpr bool kMeasuresMemory = true;
#endif

int64_t peak_kib() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// Every place in the file taken for an integer of every size, with every value that ever hurt
// somebody.
TEST(GgufHostile, SurvivesExtremeIntegersEverywhereInBoundedMemory) {
  const int64_t before = peak_kib();
  const std::string good = small_gguf().data;
  constexpr uint64_t kExtremes[] = {0,
                                    1,
                                    0x7FFFFFFF,
                                    0x80000000,
                                    0xFFFFFFFE,
                                    0xFFFFFFFF,
                                    1ull << 32,
                                    1ull << 40,
                                    1ull << 62,
                                    (1ull << 63) - 1,
                                    1ull << 63,
                                    UINT64_MAX - 31,
                                    UINT64_MAX - 1,
                                    UINT64_MAX};
  for (size_t at = 0; at < good.size(); ++at) {
    for (const uint64_t extreme : kExtremes) {
      for (const size_t width : {size_t{4}, size_t{8}}) {
        std::string bytes = good;
        std::memcpy(bytes.data() + at, &extreme, std::min(width, bytes.size() - at));
        if (const auto file = GgufBytes::parse_gguf(bytes); file.is_ok()) touch(**file);
      }
    }
  }
  if (kMeasuresMemory) {
    EXPECT_LT(peak_kib() - before, 64 * 1024);
  }
}

TEST(GgufHostile, RefusesTinyFiles) {
  std::mt19937 random(1);
  for (size_t size = 0; size <= 64; ++size) {
    for (int round = 0; round < 200; ++round) {
      std::string bytes = "GGUF\3";
      bytes.append(3, '\0');
      while (bytes.size() < size)
        bytes.push_back(static_cast<char>(random()));
      bytes.resize(size);
      EXPECT_FALSE(GgufBytes::parse_gguf(bytes).is_ok()) << size;
    }
  }
}

// A million records are refused, when refused, before they have grown into a million entries.
TEST(GgufHostile, RefusesAMillionTensorsWithoutHoldingThem) {
  GgufBytes bytes;
  bytes.header(limits::kGgufTensors, 0);
  for (uint64_t i = 0; i < limits::kGgufTensors; ++i) {
    bytes.tensor(fmt::format("{:x}", i), {1}, 24, i == limits::kGgufTensors - 1 ? 0 : i * 32);
  }
  bytes.pad().zeros(limits::kGgufTensors * 32);
  const int64_t before = peak_kib();
  const auto file = bytes.parse();
  ASSERT_FALSE(file.is_ok());
  EXPECT_THAT(file.status().message(), HasSubstr("lies in the 1 bytes of '0'"));
  if (kMeasuresMemory) {
    EXPECT_LT(peak_kib() - before, 64 * 1024);
  }
}

}  // namespace
}  // namespace ingot
