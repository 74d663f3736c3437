// SPDX-License-Identifier: Apache-2.0
#include "formats/gguf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <numeric>
#include <random>

#include "formats/gguf_test_bytes.h"
#include "formats/gguf_writer.h"
#include "formats/test_files.h"

namespace ingot {
namespace {

using testing::HasSubstr;

TEST(Gguf, ReadsTensorsOfVersions2And3) {
  for (const uint32_t version : {2u, 3u}) {
    const GgufBytes bytes = small_gguf(version);
    const auto file = bytes.parse();
    ASSERT_TRUE(file.is_ok()) << file.status().message();
    const auto tensors = (*file)->tensors();
    ASSERT_EQ(tensors.size(), 3u);
    EXPECT_EQ(tensors[0].name, "token_embd.weight");
    EXPECT_EQ(tensors[0].tensor.shape,
              (Shape{3, 4}));  // the file has the innermost dimension first
    EXPECT_EQ(tensors[0].tensor.layout, Layout::kF32);
    EXPECT_EQ(tensors[1].tensor.layout, Layout::kQ4_K);
    EXPECT_EQ(tensors[1].tensor.bytes.size(), 288u);
    EXPECT_EQ(tensors[2].tensor.bytes.size(), 10u);
    EXPECT_EQ(tensors[2].tensor.bytes.data(),
              (*file)->file()->bytes().data() + tensors[2].file_offset);
    EXPECT_EQ(tensors[2].file_offset + 10, bytes.data.size());
  }
}

TEST(Gguf, OpensAFileWithoutTensorsOrPadding) {
  GgufBytes bytes;
  bytes.header(0, 1).key("general.architecture", GgufType::kString).text("llama");
  EXPECT_TRUE(bytes.parse().is_ok());
  EXPECT_TRUE(GgufBytes().header(0, 0).parse().is_ok());
}

TEST(Gguf, AllowsTensorsInAnyOrderWithGaps) {
  GgufBytes bytes;
  bytes.header(2, 0).tensor("late", {2}, 0, 64).tensor("early", {2}, 0, 0).pad().zeros(72);
  const auto file = bytes.parse();
  ASSERT_TRUE(file.is_ok()) << file.status().message();
  EXPECT_EQ((*file)->tensors()[0].name, "late");
}

TEST(Gguf, HonoursEveryLegalAlignment) {
  for (uint32_t alignment = 8; alignment <= 65536; alignment *= 2) {
    GgufBytes bytes;
    bytes.header(2, 1).key("general.alignment", GgufType::kUint32).put(alignment);
    bytes.tensor("a", {1}, 24, 0).tensor("b", {1}, 24, alignment).pad(alignment);
    const size_t data = bytes.data.size();
    bytes.zeros(alignment + 1);
    const auto file = bytes.parse();
    ASSERT_TRUE(file.is_ok()) << file.status().message();
    EXPECT_EQ((*file)->tensors()[1].file_offset, data + alignment);
  }
}

TEST(Gguf, WritesAndReadsBackEveryLayout) {
  const auto path = temp_file("layouts.gguf");
  GgufWriter writer;
  std::vector<std::vector<std::byte>> storage;
  std::vector<std::pair<Layout, Shape>> expected;
  for (size_t i = 0; i < kLayoutCount; ++i) {
    const auto layout = static_cast<Layout>(i);
    if (!ggml_type_of_layout(layout)) continue;
    const Shape shape{3, 2, uint64_t{info(layout).block_elements} * 2};
    const size_t size = *storage_bytes(layout, shape.elements()).value();
    storage.push_back(random_bytes(size, static_cast<uint32_t>(i)));
    expected.emplace_back(layout, shape);
    writer.add(fmt::format("tensor.{}", info(layout).name), {layout, shape, storage.back()});
  }
  EXPECT_EQ(expected.size(), 35u);  // every type that stands in files today
  writer.set("general.architecture", "test");
  ASSERT_TRUE(writer.write(path).is_ok());

  const auto file = GgufFile::open(path);
  ASSERT_TRUE(file.is_ok()) << file.status().message();
  ASSERT_EQ((*file)->tensors().size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const TensorEntry& entry = (*file)->tensors()[i];
    EXPECT_EQ(entry.tensor.layout, expected[i].first);
    EXPECT_EQ(entry.tensor.shape, expected[i].second);
    EXPECT_TRUE(std::ranges::equal(entry.tensor.bytes, storage[i])) << entry.name;
    EXPECT_EQ(entry.file_offset % 32, 0u);
  }
  std::filesystem::remove(path);
}

TEST(Gguf, WritesAndReadsBackEveryValue) {
  const auto path = temp_file("values.gguf");
  GgufWriter writer;
  writer.set("string", "first");
  writer.set("string", "naïve \n text");  // the last one counts
  writer.set("bool", true);
  writer.set("u32", uint32_t{4000000000});
  writer.set("i32", int32_t{-5});
  writer.set("u64", uint64_t{1} << 40);
  writer.set("f32", 0.5f);
  writer.set("strings", std::vector<std::string>{"a", "", "b c"});
  writer.set("i32s", std::vector<int32_t>{-1, 2});
  writer.set("u32s", std::vector<uint32_t>{1, 4000000000});
  writer.set("f32s", std::vector<float>{1.5f, -2.0f});
  writer.set("u8s", std::vector<uint8_t>{0, 255});
  writer.set("general.alignment", uint32_t{4096});
  const std::vector<std::byte> data = random_bytes(8, 1);
  writer.add("a", {Layout::kF32, Shape{2}, data});
  ASSERT_TRUE(writer.write(path).is_ok());

  const auto file = GgufFile::open(path);
  ASSERT_TRUE(file.is_ok()) << file.status().message();
  const GgufMetadata& metadata = (*file)->metadata();
  EXPECT_EQ(*metadata.string("string"), "naïve \n text");
  EXPECT_EQ(*metadata.boolean("bool"), true);
  EXPECT_EQ(*metadata.integer("u32"), 4000000000);
  EXPECT_EQ(*metadata.integer("i32"), -5);
  EXPECT_EQ(*metadata.integer("u64"), int64_t{1} << 40);
  EXPECT_EQ(*metadata.number("f32"), 0.5);
  EXPECT_THAT(*metadata.strings("strings"), testing::ElementsAre("a", "", "b c"));
  EXPECT_THAT(*metadata.integers("i32s"), testing::ElementsAre(-1, 2));
  EXPECT_THAT(*metadata.integers("u32s"), testing::ElementsAre(1, 4000000000));
  EXPECT_THAT(*metadata.numbers("f32s"), testing::ElementsAre(1.5f, -2.0f));
  EXPECT_THAT(*metadata.integers("u8s"), testing::ElementsAre(0, 255));
  EXPECT_EQ((*file)->tensors()[0].file_offset, 4096u);
  std::filesystem::remove(path);
}

TEST(Gguf, WriterRefusesWhatTheReaderWould) {
  const auto path = temp_file("refused.gguf");
  const std::vector<std::byte> data = random_bytes(64, 1);
  const auto write = [&](const std::string& name, const TensorView& tensor) {
    GgufWriter writer;
    writer.add(name, tensor);
    return writer.write(path).message();
  };
  const TensorView good{Layout::kF32, Shape{16}, data};
  EXPECT_THAT(write("", good), HasSubstr("empty"));
  EXPECT_THAT(write("a\nb", good), HasSubstr("name"));
  EXPECT_THAT(write("a", {Layout::kF32, Shape{15}, data}), HasSubstr("64 bytes are not [15]"));
  EXPECT_THAT(write("a", {Layout::kF32, Shape{}, data}), HasSubstr("shape []"));
  EXPECT_THAT(write("a", {Layout::kF32, Shape{16, 0}, {}}), HasSubstr("shape [16, 0]"));
  EXPECT_THAT(write("a", {Layout::kF32, Shape{1, 1, 1, 1, 16}, data}), HasSubstr("shape"));
  EXPECT_THAT(write("a", {Layout::kU8, Shape{64}, data}), HasSubstr("no type for U8"));
  GgufWriter twice;
  twice.add("a", good);
  twice.add("a", good);
  EXPECT_THAT(twice.write(path).message(), HasSubstr("two tensors are called 'a'"));
  GgufWriter misaligned;
  misaligned.set("general.alignment", uint32_t{24});
  EXPECT_THAT(misaligned.write(path).message(), HasSubstr("general.alignment"));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Gguf, TensorTypesMapBothWays) {
  for (uint32_t type = 0; type < 64; ++type) {
    const auto layout = layout_of_ggml_type(type);
    if (layout) {
      EXPECT_EQ(ggml_type_of_layout(*layout), type);
    }
  }
  for (const uint32_t removed : {4u, 5u, 31u, 32u, 33u, 36u, 37u, 38u, 43u, 0xFFFFFFFFu}) {
    EXPECT_FALSE(layout_of_ggml_type(removed)) << removed;
  }
}

}  // namespace
}  // namespace ingot
