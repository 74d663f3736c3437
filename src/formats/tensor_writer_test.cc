// SPDX-License-Identifier: Apache-2.0
#include "formats/tensor_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <random>

#include "formats/checkpoint.h"
#include "formats/gguf_writer.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class TensorWriterTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / fmt::format("ingot-writer-{}", ::getpid());
    fs::remove_all(folder_);
    fs::create_directory(folder_);
    std::mt19937 random(7);
    for (size_t i = 0; i < 6; ++i) {
      const Layout layout = i % 2 == 0 ? Layout::kF32 : Layout::kBF16;
      tensors_.push_back({fmt::format("t{}", i), layout, Shape{i + 1, 33}});
      data_.emplace_back(*storage_bytes(layout, (i + 1) * 33).value());
      for (std::byte& byte : data_.back())
        byte = static_cast<std::byte>(random());
    }
    values_.set("general.architecture", "test");
  }
  void TearDown() override { fs::remove_all(folder_); }

  Result<std::unique_ptr<TensorWriter>> create(bool is_gguf, const WriterOptions& options) {
    if (is_gguf) return create_gguf(folder_ / "out.gguf", values_, tensors_, options);
    return create_safetensors(folder_ / "out", {{"format", "pt"}}, tensors_,
                              {{"config.json", "{}", {}}}, options);
  }
  fs::path output(bool is_gguf) const { return folder_ / (is_gguf ? "out.gguf" : "out"); }
  fs::path partial(bool is_gguf) const { return output(is_gguf).string() + ".ingot-partial"; }
  fs::path data_file(bool is_gguf) const {
    return partial(is_gguf) / "made" / (is_gguf ? "out.gguf" : "model.safetensors");
  }
  void expect_equal(const fs::path& path) {
    const auto checkpoint = Checkpoint::open(path);
    ASSERT_TRUE(checkpoint.is_ok()) << checkpoint.status().message();
    ASSERT_EQ((*checkpoint)->tensors().size(), tensors_.size());
    for (size_t i = 0; i < tensors_.size(); ++i) {
      const auto tensor = (*checkpoint)->tensor(tensors_[i].name);
      ASSERT_TRUE(tensor.is_ok());
      EXPECT_EQ(tensor->shape, tensors_[i].shape);
      EXPECT_TRUE(std::ranges::equal(tensor->bytes, data_[i])) << tensors_[i].name;
    }
  }

  fs::path folder_;
  GgufKeyValues values_;
  std::vector<PlannedTensor> tensors_;
  std::vector<std::vector<std::byte>> data_;
};

TEST_F(TensorWriterTest, TensorsMayComeInAnyOrderAndInParts) {
  for (const bool is_gguf : {true, false}) {
    auto writer = create(is_gguf, {});
    ASSERT_TRUE(writer.is_ok()) << writer.status().message();
    for (const size_t i : {4u, 0u, 5u, 1u, 3u})
      ASSERT_TRUE((*writer)->write(i, data_[i]).is_ok());
    const std::span<const std::byte> parts = data_[2];
    ASSERT_TRUE((*writer)->write_part(2, 100, parts.subspan(100)).is_ok());
    ASSERT_TRUE((*writer)->write_part(2, 0, parts.first(100)).is_ok());
    EXPECT_FALSE((*writer)->is_done(2));
    ASSERT_TRUE((*writer)->finish(2).is_ok());
    EXPECT_TRUE((*writer)->is_done(2));
    const auto view = (*writer)->view(2);
    ASSERT_TRUE(view.is_ok());
    EXPECT_TRUE(std::ranges::equal(view->bytes, data_[2]));
    EXPECT_FALSE(fs::exists(output(is_gguf)));
    const Status committed = (*writer)->commit();
    ASSERT_TRUE(committed.is_ok()) << committed.message();
    expect_equal(output(is_gguf));
    EXPECT_FALSE(fs::exists(partial(is_gguf)));
  }
  EXPECT_EQ(read(folder_ / "out" / "config.json"), "{}");
}

TEST_F(TensorWriterTest, WritesTheSameGgufAsTheWriterOfWholeFiles) {
  GgufWriter whole;
  whole.set("general.architecture", "test");
  for (size_t i = 0; i < tensors_.size(); ++i)
    whole.add(tensors_[i].name, {tensors_[i].layout, tensors_[i].shape, data_[i]});
  ASSERT_TRUE(whole.write(folder_ / "whole.gguf").is_ok());
  auto writer = create(true, {});
  for (size_t i = 0; i < tensors_.size(); ++i)
    ASSERT_TRUE((*writer)->write(i, data_[i]).is_ok());
  ASSERT_TRUE((*writer)->commit().is_ok());
  EXPECT_EQ(read(output(true)), read(folder_ / "whole.gguf"));
}

TEST_F(TensorWriterTest, ShardsAndSplitsHoldEveryTensor) {
  for (const bool is_gguf : {true, false}) {
    WriterOptions options;
    options.shard_bytes = options.split_bytes = 900;
    auto writer = create(is_gguf, options);
    ASSERT_TRUE(writer.is_ok()) << writer.status().message();
    for (size_t i = 0; i < tensors_.size(); ++i)
      ASSERT_TRUE((*writer)->write(i, data_[i]).is_ok());
    ASSERT_TRUE((*writer)->commit().is_ok());
    expect_equal(is_gguf ? folder_ / "out-00001-of-00004.gguf" : output(false));
  }
  EXPECT_TRUE(fs::exists(output(false) / "model-00004-of-00004.safetensors"));
}

TEST_F(TensorWriterTest, GoesOnWhereAnEarlierRunOfTheSamePlanWas) {
  for (const bool is_gguf : {true, false}) {
    {
      auto writer = create(is_gguf, {.plan = "a"});
      ASSERT_TRUE((*writer)->write(1, data_[1]).is_ok());
      ASSERT_TRUE((*writer)->write(3, data_[3]).is_ok());
      ASSERT_TRUE((*writer)->write_part(4, 0, std::span(data_[4]).first(8)).is_ok());
    }
    EXPECT_TRUE(fs::exists(partial(is_gguf)));
    auto writer = create(is_gguf, {.plan = "a"});
    ASSERT_TRUE(writer.is_ok()) << writer.status().message();
    for (size_t i = 0; i < tensors_.size(); ++i) {
      EXPECT_EQ((*writer)->is_done(i), i == 1 || i == 3) << i;
      if ((*writer)->is_done(i)) continue;
      ASSERT_TRUE((*writer)->write(i, data_[i]).is_ok());
    }
    ASSERT_TRUE((*writer)->commit().is_ok());
    expect_equal(output(is_gguf));
  }
}

TEST_F(TensorWriterTest, APartialOfAnotherPlanIsReplaced) {
  {
    auto writer = create(true, {.plan = "a"});
    ASSERT_TRUE((*writer)->write(1, data_[1]).is_ok());
  }
  {
    auto writer = create(true, {.plan = "ab"});
    ASSERT_TRUE(writer.is_ok()) << writer.status().message();
    EXPECT_FALSE((*writer)->is_done(1));
    ASSERT_TRUE((*writer)->write(1, data_[1]).is_ok());
  }
  values_.set("more", true);  // the same plan, but another header
  auto writer = create(true, {.plan = "ab"});
  EXPECT_FALSE((*writer)->is_done(1));
}

TEST_F(TensorWriterTest, DataThatDoesNotMatchItsRecordIsWrittenAgain) {
  {
    auto writer = create(false, {});
    ASSERT_TRUE((*writer)->write(0, data_[0]).is_ok());
    ASSERT_TRUE((*writer)->write(2, data_[2]).is_ok());
  }
  {  // the last byte of the file: of t5, not done; then one in t2's data
    std::string bytes = read(data_file(false));
    const auto at = bytes.find(std::string(reinterpret_cast<const char*>(data_[2].data()), 16));
    ASSERT_NE(at, std::string::npos);
    bytes[at + 50] = static_cast<char>(bytes[at + 50] ^ 1);
    std::ofstream(data_file(false), std::ios::binary) << bytes;
  }
  {  // and a record that was torn
    std::ofstream(partial(false) / "journal", std::ios::binary | std::ios::app) << "torn";
  }
  auto writer = create(false, {});
  EXPECT_TRUE((*writer)->is_done(0));
  EXPECT_FALSE((*writer)->is_done(2));
}

TEST_F(TensorWriterTest, RefusesAnOutputThatIsThereUnlessItOverwrites) {
  for (const bool is_gguf : {true, false}) {
    for (const bool overwrites : {false, true}) {
      auto writer = create(is_gguf, {.plan = "", .overwrites = overwrites});
      ASSERT_TRUE(writer.is_ok()) << writer.status().message();
      for (size_t i = 0; i < tensors_.size(); ++i)
        ASSERT_TRUE((*writer)->write(i, data_[i]).is_ok());
      ASSERT_TRUE((*writer)->commit().is_ok());
      expect_equal(output(is_gguf));
      EXPECT_THAT(create(is_gguf, {}).status().message(), HasSubstr("exists; give --force"));
      EXPECT_FALSE(fs::exists(partial(is_gguf)));
      data_[0][0] ^= std::byte{1};
    }
  }
  fs::create_directory(folder_ / "photos");
  std::ofstream(folder_ / "photos" / "one.jpg") << "x";
  EXPECT_THAT(
      create_safetensors(folder_ / "photos", {}, tensors_, {}, {.plan = "", .overwrites = true})
          .status()
          .message(),
      HasSubstr("without a model"));
  EXPECT_THAT(create_gguf(folder_ / "photos", values_, tensors_, {}).status().message(),
              HasSubstr("is a folder"));
  EXPECT_THAT(create_gguf(folder_ / "no" / "x.gguf", values_, tensors_, {}).status().message(),
              HasSubstr("no such folder"));
}

TEST_F(TensorWriterTest, AnOutputThatAppearsMeanwhileIsNotReplaced) {
  auto writer = create(true, {});
  for (size_t i = 0; i < tensors_.size(); ++i)
    ASSERT_TRUE((*writer)->write(i, data_[i]).is_ok());
  std::ofstream(output(true)) << "mine";
  EXPECT_THAT((*writer)->commit().message(), HasSubstr("appeared"));
  EXPECT_EQ(read(output(true)), "mine");
}

TEST_F(TensorWriterTest, AnEmptyFolderCountsAsNothing) {
  fs::create_directory(output(false));
  auto writer = create(false, {});
  ASSERT_TRUE(writer.is_ok()) << writer.status().message();
  for (size_t i = 0; i < tensors_.size(); ++i)
    ASSERT_TRUE((*writer)->write(i, data_[i]).is_ok());
  ASSERT_TRUE((*writer)->commit().is_ok());
  expect_equal(output(false));
}

TEST_F(TensorWriterTest, TwoWritersOfOneOutputAreRefused) {
  auto writer = create(true, {});
  ASSERT_TRUE(writer.is_ok());
  EXPECT_THAT(create(true, {}).status().message(), HasSubstr("another process is writing it"));
  EXPECT_TRUE(create(false, {}).is_ok());
}

TEST_F(TensorWriterTest, ADiskTooSmallIsSaidBeforeTheWorkBegins) {
  tensors_.push_back({"huge", Layout::kF32, Shape{1u << 31, 1u << 20}});
  const auto writer = create(true, {});
  EXPECT_EQ(writer.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(writer.status().message(), HasSubstr("free; free some space"));
  EXPECT_FALSE(fs::exists(partial(true)));
}

TEST_F(TensorWriterTest, ARunThatFinishedNothingLeavesNothing) {
  { auto writer = create(true, {}); }
  EXPECT_TRUE(fs::is_empty(folder_));
}

}  // namespace
}  // namespace ingot
