// SPDX-License-Identifier: Apache-2.0
#include "base/mapped_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <thread>

namespace ingot {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class MappedFileTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    path_ = fs::path(testing::TempDir()) / fmt::format("ingot-{}-{}", ::getpid(), test->name());
  }
  void TearDown() override { fs::remove(path_); }
  void fill(size_t size) { std::ofstream(path_) << std::string(size, 'x'); }

  fs::path path_;
};

TEST_F(MappedFileTest, MapsTheBytesOfAFile) {
  std::ofstream(path_) << "hello";
  const auto file = MappedFile::open(path_);
  ASSERT_TRUE(file.is_ok()) << file.status().message();
  ASSERT_EQ((*file)->bytes().size(), 5u);
  EXPECT_EQ((*file)->bytes()[4], std::byte{'o'});
  EXPECT_EQ((*file)->name(), path_.string());
  EXPECT_TRUE((*file)->check_intact().is_ok());
  (*file)->prefetch();
}

TEST_F(MappedFileTest, MapsAnEmptyFileToNothing) {
  fill(0);
  const auto file = MappedFile::open(path_);
  ASSERT_TRUE(file.is_ok());
  EXPECT_TRUE((*file)->bytes().empty());
}

TEST_F(MappedFileTest, RefusesWhatIsNotARegularFile) {
  EXPECT_EQ(MappedFile::open(path_).status().code(), StatusCode::kNotFound);
  EXPECT_THAT(MappedFile::open(testing::TempDir()).status().message(),
              HasSubstr("not a regular file"));
  EXPECT_THAT(MappedFile::open("/dev/zero").status().message(), HasSubstr("not a regular file"));
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(MappedFile::open(path_).status().message(),
              HasSubstr("not a regular file"));  // and does not hang
}

TEST_F(MappedFileTest, SurvivesTruncationWhileInUse) {
  constexpr size_t kSize = 1 << 20;
  fill(kSize);
  const auto file = MappedFile::open(path_);
  ASSERT_TRUE(file.is_ok());
  const std::span<const std::byte> bytes = (*file)->bytes();
  EXPECT_EQ(bytes[kSize - 1], std::byte{'x'});
  fs::resize_file(path_, 8192);
  EXPECT_EQ(bytes[8191], std::byte{'x'});
  for (size_t at = 8192; at < kSize; at += 1000)
    ASSERT_EQ(bytes[at], std::byte{0}) << at;
  EXPECT_EQ(bytes[0], std::byte{'x'});
  EXPECT_EQ((*file)->check_intact().code(), StatusCode::kInvalidData);
  EXPECT_THAT((*file)->check_intact().message(), HasSubstr("truncated while in use"));
}

TEST_F(MappedFileTest, NoticesACutWithinTheLastPage) {
  fill(5000);
  const auto file = MappedFile::open(path_);
  ASSERT_TRUE(file.is_ok());
  EXPECT_TRUE((*file)->check_intact().is_ok());
  fs::resize_file(path_, 4999);
  EXPECT_EQ((*file)->check_intact().code(), StatusCode::kInvalidData);
}

TEST_F(MappedFileTest, SurvivesTruncationUnderManyThreads) {
  constexpr size_t kSize = 1 << 22;
  fill(kSize);
  const auto file = MappedFile::open(path_);
  ASSERT_TRUE(file.is_ok());
  const std::span<const std::byte> bytes = (*file)->bytes();
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        for (size_t at = i; at < kSize; at += 512) {
          const std::byte byte = bytes[at];
          if (byte != std::byte{'x'} && byte != std::byte{0}) std::abort();
        }
      });
    }
    fs::resize_file(path_, 0);
  }
  EXPECT_EQ(bytes[kSize - 1], std::byte{0});
  EXPECT_FALSE((*file)->check_intact().is_ok());
}

TEST_F(MappedFileTest, OneBrokenFileLeavesOthersIntact) {
  fill(1 << 16);
  const fs::path other_path = path_.string() + ".other";
  std::ofstream(other_path) << std::string(1 << 16, 'y');
  const auto broken = MappedFile::open(path_);
  const auto other = MappedFile::open(other_path);
  fs::resize_file(path_, 0);
  EXPECT_EQ((*broken)->bytes()[100], std::byte{0});
  EXPECT_FALSE((*broken)->check_intact().is_ok());
  EXPECT_EQ((*other)->bytes()[100], std::byte{'y'});
  EXPECT_TRUE((*other)->check_intact().is_ok());
  fs::remove(other_path);
}

TEST_F(MappedFileTest, ReusesItsSlotsForEver) {
  fill(4096);
  for (int i = 0; i < 20'000; ++i) {
    const auto file = MappedFile::open(path_);
    ASSERT_TRUE(file.is_ok()) << i << file.status().message();
    ASSERT_TRUE((*file)->check_intact().is_ok());
  }
}

using MappedFileDeathTest = MappedFileTest;

TEST_F(MappedFileDeathTest, LeavesForeignBusErrorsToOthers) {
  fill(4096);
  const auto file = MappedFile::open(path_);  // installs the handler
  EXPECT_DEATH(::raise(SIGBUS), "");
}

TEST_F(MappedFileTest, WrapsMemory) {
  const std::string text = "abc";
  const auto file = MappedFile::from_memory(std::as_bytes(std::span(text)), "embedded");
  EXPECT_EQ(file->bytes().size(), 3u);
  EXPECT_EQ(file->name(), "embedded");
  EXPECT_TRUE(file->check_intact().is_ok());
}

TEST_F(MappedFileTest, ReadsSmallFilesOnly) {
  fill(100);
  EXPECT_EQ(read_small_file(path_, 100)->size(), 100u);
  const auto refused = read_small_file(path_, 99);
  EXPECT_EQ(refused.status().code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.status().message(), HasSubstr("100 bytes, more than the limit of 99"));
  EXPECT_FALSE(read_small_file(testing::TempDir(), 99).is_ok());
}

}  // namespace
}  // namespace ingot
