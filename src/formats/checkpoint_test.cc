// SPDX-License-Identifier: Apache-2.0
#include "formats/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "base/limits.h"
#include "formats/gguf_test_bytes.h"
#include "formats/gguf_writer.h"
#include "formats/split_name.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Each test gets an empty folder of its own.
class CheckpointTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) / fmt::format("ingot-{}-{}", ::getpid(), test->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& name, std::string_view bytes) {
    std::ofstream(folder_ / name) << bytes;
  }
  std::string refusal(const fs::path& path) {
    const auto checkpoint = Checkpoint::open(path);
    return checkpoint.is_ok() ? "opened" : checkpoint.status().message();
  }
  std::vector<TensorEntry> entries(const std::vector<std::string>& names) {
    std::vector<TensorEntry> made;
    made.reserve(names.size());
    for (const std::string& name : names)
      made.push_back({name, {Layout::kF32, Shape{2}, data_}, 0});
    return made;
  }
  void write_split(uint32_t number, uint32_t count, uint32_t said_number, uint32_t said_count,
                   int32_t tensors) {
    GgufWriter writer;
    writer.set("split.no", said_number - 1);
    writer.set("split.count", said_count);
    writer.set("split.tensors.count", tensors);
    writer.add(fmt::format("t{}", number), {Layout::kF32, Shape{2}, data_});
    const Status status =
        writer.write(folder_ / fmt::format("m-{:05}-of-{:05}.gguf", number, count));
    ASSERT_TRUE(status.is_ok()) << status.message();
  }

  fs::path folder_;
  std::vector<std::byte> data_ = std::vector<std::byte>(8, std::byte{3});
};

TEST_F(CheckpointTest, OpensGgufByFileAndByFolder) {
  write("model.gguf", small_gguf().data);
  for (const fs::path& path : {folder_ / "model.gguf", folder_}) {
    const auto checkpoint = Checkpoint::open(path);
    ASSERT_TRUE(checkpoint.is_ok()) << checkpoint.status().message();
    EXPECT_EQ((*checkpoint)->folder(), folder_);
    EXPECT_EQ((*checkpoint)->name(), path.string());
    ASSERT_NE((*checkpoint)->gguf_metadata(), nullptr);
    EXPECT_EQ(*(*checkpoint)->gguf_metadata()->string("general.architecture"), "llama");
    EXPECT_EQ((*checkpoint)->tensors().size(), 3u);
    EXPECT_EQ((*checkpoint)->tensors()[0]->name, "token_embd.weight");
    EXPECT_EQ((*checkpoint)->tensor("norm")->shape, Shape{5});
    EXPECT_EQ((*checkpoint)->find("norm.weight"), nullptr);
    EXPECT_EQ((*checkpoint)->tensor("x").status().code(), StatusCode::kNotFound);
    EXPECT_THAT((*checkpoint)->tensor("x").status().message(),
                HasSubstr(path.string() + ": no tensor 'x'"));
    EXPECT_EQ((*checkpoint)->size_bytes(), small_gguf().data.size());
    EXPECT_TRUE((*checkpoint)->check_intact().is_ok());
  }
}

TEST_F(CheckpointTest, OpensAnEmbeddedGguf) {
  const GgufBytes bytes = small_gguf();
  const auto checkpoint = Checkpoint::from_gguf(*bytes.parse());
  ASSERT_TRUE(checkpoint.is_ok());
  EXPECT_TRUE((*checkpoint)->folder().empty());
  EXPECT_NE((*checkpoint)->find("norm"), nullptr);
}

TEST_F(CheckpointTest, OpensSplitsFromAnyOfThem) {
  for (uint32_t i = 1; i <= 3; ++i)
    write_split(i, 3, i, 3, 3);
  for (const char* name : {"m-00001-of-00003.gguf", "m-00002-of-00003.gguf", "."}) {
    const auto checkpoint = Checkpoint::open(folder_ / name);
    ASSERT_TRUE(checkpoint.is_ok()) << checkpoint.status().message();
    ASSERT_EQ((*checkpoint)->tensors().size(), 3u);
    EXPECT_EQ((*checkpoint)->tensors()[2]->name, "t3");
    EXPECT_EQ(*(*checkpoint)->gguf_metadata()->integer("split.no"), 0);
  }
}

TEST_F(CheckpointTest, RefusesSplitsThatDoNotBelongTogether) {
  write_split(1, 2, 1, 2, 2);
  EXPECT_THAT(refusal(folder_), HasSubstr("m-00002-of-00002.gguf: cannot open"));
  write_split(2, 2, 1, 2, 2);
  EXPECT_THAT(refusal(folder_), HasSubstr("says split 1 of 2 but the name says 2 of 2"));
  write_split(2, 2, 2, 3, 2);
  EXPECT_THAT(refusal(folder_ / "m-00001-of-00002.gguf"), HasSubstr("says split 2 of 3"));
  write_split(2, 2, 2, 2, 2);
  EXPECT_EQ(refusal(folder_), "opened");
  write_split(1, 2, 1, 2, 5);
  EXPECT_THAT(refusal(folder_), HasSubstr("5 tensors, but the 2 splits hold 2"));
  fs::rename(folder_ / "m-00001-of-00002.gguf", folder_ / "renamed.gguf");
  EXPECT_THAT(refusal(folder_ / "renamed.gguf"),
              HasSubstr("its name must end in -00001-of-00002.gguf"));
  write_split(1, 2, 1, 50'000, 2);
  EXPECT_THAT(refusal(folder_ / "m-00001-of-00002.gguf"), HasSubstr("50000 splits, more than"));
}

TEST_F(CheckpointTest, RefusesATensorInTwoSplits) {
  for (uint32_t i = 1; i <= 2; ++i) {
    GgufWriter writer;
    writer.set("split.no", i - 1);
    writer.set("split.count", uint32_t{2});
    writer.add("same", {Layout::kF32, Shape{2}, data_});
    ASSERT_TRUE(writer.write(folder_ / fmt::format("m-{:05}-of-00002.gguf", i)).is_ok());
  }
  EXPECT_THAT(refusal(folder_), HasSubstr("tensor 'same' is in two of its files"));
}

TEST_F(CheckpointTest, OpensSafetensorsByFileFolderAndLink) {
  ASSERT_TRUE(write_safetensors(folder_ / "model.safetensors", entries({"a", "b"}), {}).is_ok());
  ASSERT_TRUE(write_safetensors(folder_ / "goldens.safetensors", entries({"c"}), {}).is_ok());
  const auto checkpoint = Checkpoint::open(folder_);
  ASSERT_TRUE(checkpoint.is_ok()) << checkpoint.status().message();
  EXPECT_NE((*checkpoint)->find("a"), nullptr);
  EXPECT_EQ((*checkpoint)->find("c"), nullptr);
  EXPECT_EQ((*checkpoint)->gguf_metadata(), nullptr);
  EXPECT_NE((*Checkpoint::open(folder_ / "goldens.safetensors"))->find("c"), nullptr);

  // A model cache: blobs named by their hash, and links with the names of the model.
  fs::create_directories(folder_ / "blobs");
  fs::create_directories(folder_ / "snapshot");
  fs::rename(folder_ / "model.safetensors", folder_ / "blobs" / "0123");
  fs::create_symlink(folder_ / "blobs" / "0123", folder_ / "snapshot" / "model.safetensors");
  EXPECT_EQ(refusal(folder_ / "snapshot"), "opened");
  EXPECT_EQ(refusal(folder_ / "blobs" / "0123"), "opened");
}

TEST_F(CheckpointTest, OpensShardsByTheirIndex) {
  ASSERT_TRUE(
      write_safetensors_sharded(folder_, entries({"a", "b", "c", "d", "e"}), {{"format", "pt"}}, 20)
          .is_ok());
  for (const fs::path& path : {folder_, folder_ / "model.safetensors.index.json"}) {
    const auto checkpoint = Checkpoint::open(path);
    ASSERT_TRUE(checkpoint.is_ok()) << checkpoint.status().message();
    EXPECT_EQ((*checkpoint)->tensors().size(), 5u);
    EXPECT_NE((*checkpoint)->find("e"), nullptr);
    EXPECT_EQ((*checkpoint)->folder(), folder_);
  }
  EXPECT_TRUE(fs::exists(folder_ / "model-00003-of-00003.safetensors"));
  fs::remove(folder_ / "model-00002-of-00003.safetensors");
  EXPECT_THAT(refusal(folder_),
              HasSubstr("names the shard model-00002-of-00003.safetensors, which is not there"));
  fs::remove(folder_ / "model.safetensors.index.json");
  EXPECT_THAT(refusal(folder_), HasSubstr("but no model.safetensors.index.json"));
}

TEST_F(CheckpointTest, RefusesAnIndexThatPromisesTooMuch) {
  ASSERT_TRUE(write_safetensors(folder_ / "x.safetensors", entries({"a"}), {}).is_ok());
  write("model.safetensors.index.json",
        R"({"weight_map":{"a":"x.safetensors","b":"x.safetensors"}})");
  EXPECT_THAT(refusal(folder_), HasSubstr("tensor 'b' is not in its shard x.safetensors"));
  write("model.safetensors.index.json", R"({"weight_map":{"a":"../x.safetensors"}})");
  EXPECT_THAT(refusal(folder_), HasSubstr("is not the name of a .safetensors file in this folder"));
}

TEST_F(CheckpointTest, LetsTheIndexDecideBetweenTwoShards) {
  ASSERT_TRUE(write_safetensors(folder_ / "x.safetensors", entries({"a", "b"}), {}).is_ok());
  ASSERT_TRUE(write_safetensors(folder_ / "y.safetensors", entries({"a"}), {}).is_ok());
  write("model.safetensors.index.json",
        R"({"weight_map":{"a":"y.safetensors","b":"x.safetensors"}})");
  EXPECT_EQ(refusal(folder_), "opened");
}

TEST_F(CheckpointTest, RefusesFoldersWithoutOneModel) {
  EXPECT_THAT(refusal(folder_), HasSubstr("no .safetensors or .gguf file"));
  EXPECT_THAT(refusal(folder_ / "absent"), HasSubstr("no such file or folder"));
  write("a.gguf", small_gguf().data);
  write("b.gguf", small_gguf().data);
  EXPECT_THAT(refusal(folder_), HasSubstr("several models: a.gguf, b.gguf; give the path of one"));
  ASSERT_TRUE(write_safetensors(folder_ / "x.safetensors", entries({"a"}), {}).is_ok());
  EXPECT_EQ(refusal(folder_), "opened");
  ASSERT_TRUE(write_safetensors(folder_ / "y.safetensors", entries({"a"}), {}).is_ok());
  EXPECT_THAT(refusal(folder_), HasSubstr("several models: x.safetensors, y.safetensors"));
}

TEST_F(CheckpointTest, RefusesPickledAndForeignFiles) {
  for (const char* name : {"pytorch_model.bin", "model.pt", "model.pth", "model.pkl"}) {
    write(name, "PK\x03\x04 something");
    EXPECT_THAT(refusal(folder_ / name), HasSubstr("convert the model to safetensors or GGUF"));
    EXPECT_THAT(refusal(folder_), HasSubstr("pickled weights"));
    EXPECT_EQ(Checkpoint::open(folder_).status().code(), StatusCode::kUnsupported);
    fs::remove(folder_ / name);
  }
  write("old", "lmgg-and-more");
  EXPECT_THAT(refusal(folder_ / "old"), HasSubstr("before GGUF"));
  write("empty", "");
  EXPECT_THAT(refusal(folder_ / "empty"), HasSubstr("header length at offset 0"));
  write("text", "hello, this is not a model");
  EXPECT_THAT(refusal(folder_ / "text"), HasSubstr("not a safetensors file?"));
  EXPECT_THAT(refusal("/dev/null"), HasSubstr("not a regular file"));
  write("pytorch_model.bin", "x");
  ASSERT_TRUE(write_safetensors(folder_ / "model.safetensors", entries({"a"}), {}).is_ok());
  EXPECT_EQ(refusal(folder_), "opened");  // pickles beside safetensors are ignored
}

TEST_F(CheckpointTest, NoticesAFileThatIsCutWhileOpen) {
  std::vector<std::byte> large(1 << 20, std::byte{1});
  const std::vector<TensorEntry> one = {{"a", {Layout::kU8, Shape{1 << 20}, large}, 0}};
  ASSERT_TRUE(write_safetensors(folder_ / "model.safetensors", one, {}).is_ok());
  const auto checkpoint = Checkpoint::open(folder_);
  ASSERT_TRUE(checkpoint.is_ok());
  fs::resize_file(folder_ / "model.safetensors", 4096);
  EXPECT_EQ((*checkpoint)->find("a")->tensor.bytes.back(), std::byte{0});
  EXPECT_THAT((*checkpoint)->check_intact().message(), HasSubstr("truncated while in use"));
}

TEST(SplitName, ParsesAndNamesParts) {
  const auto name = parse_split_name("a-b-00002-of-00010.gguf");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->prefix, "a-b");
  EXPECT_EQ(name->number, 2u);
  EXPECT_EQ(name->part(10), "a-b-00010-of-00010.gguf");
  for (const char* wrong :
       {"a.gguf", "a-0002-of-00010.gguf", "a-00000-of-00010.gguf", "a-00011-of-00010.gguf",
        "a-0000x-of-00010.gguf", "a_00001-of-00010.gguf", "-of-.gguf", "", "."}) {
    EXPECT_FALSE(parse_split_name(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace ingot
