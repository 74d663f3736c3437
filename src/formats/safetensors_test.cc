// SPDX-License-Identifier: Apache-2.0
#include "formats/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <random>

#include "base/mapped_file.h"
#include "formats/safetensors_test_bytes.h"
#include "formats/test_files.h"

namespace ingot {
namespace {

using testing::HasSubstr;

TEST(Safetensors, ReadsTensorsInFileOrder) {
  const std::string bytes = safetensors_bytes(
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2,3],"data_offsets":[4,28]},)"
      R"("a":{"data_offsets":[0,4],"shape":[2],"dtype":"BF16"}}   )",
      28);
  const auto file = parse_safetensors(bytes);
  ASSERT_TRUE(file.is_ok()) << file.status().message();
  const auto tensors = (*file)->tensors();
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].name, "a");
  EXPECT_EQ(tensors[0].tensor.layout, Layout::kBF16);
  EXPECT_EQ(tensors[1].tensor.shape, (Shape{2, 3}));
  EXPECT_EQ(tensors[1].file_offset, bytes.size() - 24);
  EXPECT_EQ(tensors[1].tensor.bytes.data(),
            (*file)->file()->bytes().data() + tensors[1].file_offset);
  EXPECT_EQ((*file)->metadata().at("format"), "pt");
}

TEST(Safetensors, AllowsNoTensorsScalarsAndEmptyTensors) {
  EXPECT_TRUE(parse_safetensors(safetensors_bytes("{}", 0)).is_ok());
  const std::string bytes =
      safetensors_bytes(R"({"scalar":{"dtype":"F64","shape":[],"data_offsets":[0,8]},)"
                        R"("empty":{"dtype":"F32","shape":[0,4],"data_offsets":[8,8]},)"
                        R"("first":{"dtype":"U8","shape":[3,0],"data_offsets":[0,0]}})",
                        8);
  const auto file = parse_safetensors(bytes);
  ASSERT_TRUE(file.is_ok()) << file.status().message();
  ASSERT_EQ((*file)->tensors().size(), 3u);
  EXPECT_EQ((*file)->tensors()[0].name, "first");
  EXPECT_EQ((*file)->tensors()[1].tensor.shape.rank(), 0u);
  EXPECT_EQ((*file)->tensors()[1].tensor.rows(), 1u);
}

TEST(Safetensors, DecodesEscapedNames) {
  const auto file = parse_safetensors(safetensors_bytes(
      R"({"a\"\u00e9\ud83d\ude00":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})", 0));
  ASSERT_TRUE(file.is_ok()) << file.status().message();
  EXPECT_EQ((*file)->tensors()[0].name, "a\"é😀");
}

TEST(Safetensors, WritesAndReadsBackEveryDtype) {
  const auto path = temp_file("dtypes.safetensors");
  std::vector<std::vector<std::byte>> storage;
  std::vector<TensorEntry> entries;
  for (size_t i = 0; i < kLayoutCount; ++i) {
    const auto layout = static_cast<Layout>(i);
    if (!safetensors_dtype_of_layout(layout)) continue;
    const Shape shape{3, 2, uint64_t{info(layout).block_elements} * 2};
    storage.push_back(
        random_bytes(*storage_bytes(layout, shape.elements()).value(), static_cast<uint32_t>(i)));
    entries.push_back(
        {fmt::format("tensor \"{}\"", info(layout).name), {layout, shape, storage.back()}, 0});
  }
  EXPECT_EQ(entries.size(), 20u);  // every dtype of the format
  entries.push_back({"scalar", {Layout::kF32, Shape{}, std::span(storage[0]).first(4)}, 0});
  entries.push_back({"empty", {Layout::kF16, Shape{0, 7}, {}}, 0});
  ASSERT_TRUE(write_safetensors(path, entries, {{"format", "pt"}, {"quote", "\"\n\""}}).is_ok());

  const auto file = SafetensorsFile::open(path);
  ASSERT_TRUE(file.is_ok()) << file.status().message();
  ASSERT_EQ((*file)->tensors().size(), entries.size());
  EXPECT_EQ((*file)->metadata().at("quote"), "\"\n\"");
  for (const TensorEntry& expected : entries) {
    const auto found = std::ranges::find((*file)->tensors(), expected.name, &TensorEntry::name);
    ASSERT_NE(found, (*file)->tensors().end()) << expected.name;
    EXPECT_EQ(found->tensor.layout, expected.tensor.layout);
    EXPECT_EQ(found->tensor.shape, expected.tensor.shape);
    EXPECT_TRUE(std::ranges::equal(found->tensor.bytes, expected.tensor.bytes)) << expected.name;
  }
  std::filesystem::remove(path);
}

TEST(Safetensors, WritesTheBytesOfTheReferenceWriter) {
  const auto path = temp_file("reference.safetensors");
  const std::vector<std::byte> data = random_bytes(16, 1);
  const std::span<const std::byte> bytes(data);
  const std::vector<TensorEntry> entries = {{"b", {Layout::kF16, Shape{2}, bytes.first(4)}, 0},
                                            {"c", {Layout::kF32, Shape{1, 1}, bytes.first(4)}, 0},
                                            {"a", {Layout::kBF16, Shape{1}, bytes.first(2)}, 0}};
  ASSERT_TRUE(write_safetensors(path, entries, {{"format", "pt"}}).is_ok());
  const auto text = read_small_file(path, 4096);
  ASSERT_TRUE(text.is_ok());
  const std::string header =
      R"({"__metadata__":{"format":"pt"},"c":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]},)"
      R"("a":{"dtype":"BF16","shape":[1],"data_offsets":[4,6]},"b":{"dtype":"F16","shape":[2],"data_offsets":[6,10]}})";
  EXPECT_EQ(text->size() % 8, (8 + 10) % 8u);  // padded with spaces up to the data
  EXPECT_THAT(*text, HasSubstr(header + " "));
  std::filesystem::remove(path);
}

TEST(Safetensors, WriterRefusesWhatTheReaderWould) {
  const auto path = temp_file("refused.safetensors");
  const std::vector<std::byte> data = random_bytes(32, 1);
  const auto write = [&](const std::string& name, const TensorView& tensor) {
    const std::vector<TensorEntry> entries = {{name, tensor, 0}};
    return write_safetensors(path, entries, {}).message();
  };
  const TensorView good{Layout::kF32, Shape{8}, data};
  EXPECT_THAT(write("__metadata__", good), HasSubstr("name"));
  EXPECT_THAT(write("\xff", good), HasSubstr("name"));
  EXPECT_THAT(write("a", {Layout::kF32, Shape{9}, data}), HasSubstr("32 bytes are not [9] of F32"));
  EXPECT_THAT(write("a", {Layout::kQ8_0, Shape{32}, data}), HasSubstr("no dtype for Q8_0"));
  const std::vector<TensorEntry> twice = {{"a", good, 0}, {"a", good, 0}};
  EXPECT_THAT(write_safetensors(path, twice, {}).message(),
              HasSubstr("two tensors are called 'a'"));
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace ingot
