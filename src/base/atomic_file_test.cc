// SPDX-License-Identifier: Apache-2.0
#include "base/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>

namespace ingot {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class AtomicFileTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) / fmt::format("ingot-{}-{}", ::getpid(), test->name());
    fs::create_directories(folder_);
    path_ = folder_ / "model.gguf";
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string content() const {
    std::ostringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }
  size_t files() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
  fs::path path_;
};

TEST_F(AtomicFileTest, AppearsOnlyWhenCommitted) {
  auto file = AtomicFile::create(path_);
  ASSERT_TRUE(file.is_ok()) << file.status().message();
  ASSERT_TRUE(file->write("0123456789").is_ok());
  ASSERT_TRUE(file->write_at(2, std::as_bytes(std::span("ab", 2))).is_ok());
  EXPECT_EQ(file->size_bytes(), 10u);
  EXPECT_FALSE(fs::exists(path_));
  ASSERT_TRUE(file->commit().is_ok());
  EXPECT_EQ(content(), "01ab456789");
  EXPECT_EQ(files(), 1u);
}

TEST_F(AtomicFileTest, LeavesTheOldFileUntilCommitted) {
  std::ofstream(path_) << "old";
  auto file = AtomicFile::create(path_);
  ASSERT_TRUE(file->write("new").is_ok());
  EXPECT_EQ(content(), "old");
  ASSERT_TRUE(file->commit().is_ok());
  EXPECT_EQ(content(), "new");
}

TEST_F(AtomicFileTest, LeavesNothingBehindWhenAbandoned) {
  std::ofstream(path_) << "old";
  {
    auto file = AtomicFile::create(path_);
    ASSERT_TRUE(file->write("new").is_ok());
    AtomicFile moved = *std::move(file);
    EXPECT_EQ(files(), 2u);
  }
  EXPECT_EQ(files(), 1u);
  EXPECT_EQ(content(), "old");
}

TEST_F(AtomicFileTest, NamesThePathWhenItCannotBeCreated) {
  const auto file = AtomicFile::create(folder_ / "absent" / "model.gguf");
  EXPECT_EQ(file.status().code(), StatusCode::kIo);
  EXPECT_THAT(file.status().message(), HasSubstr("absent"));
}

TEST_F(AtomicFileTest, RefusesToReplaceAFolder) {
  fs::create_directories(path_);
  {
    auto file = AtomicFile::create(path_);
    ASSERT_TRUE(file.is_ok());
    ASSERT_TRUE(file->write("new").is_ok());
    EXPECT_THAT(file->commit().message(), HasSubstr("cannot rename"));
  }
  EXPECT_EQ(files(), 1u);
}

// A full disk, played by the limit on the size of files: writes end short, then fail.
TEST_F(AtomicFileTest, LeavesNothingBehindWhenWritingFails) {
  std::ofstream(path_) << "old";
  const auto previous = std::signal(SIGXFSZ, SIG_IGN);
  rlimit saved{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &saved), 0);
  rlimit limited = saved;
  limited.rlim_cur = 10'000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limited), 0);
  Status status;
  {
    auto file = AtomicFile::create(path_);
    for (int i = 0; i < 4 && file.is_ok() && status.is_ok(); ++i)
      status = file->write(std::string(4000, 'x'));
  }
  ::setrlimit(RLIMIT_FSIZE, &saved);
  std::signal(SIGXFSZ, previous);
  EXPECT_FALSE(status.is_ok());
  EXPECT_THAT(status.message(), HasSubstr("model.gguf: cannot write"));
  EXPECT_EQ(files(), 1u);
  EXPECT_EQ(content(), "old");
}

}  // namespace
}  // namespace ingot
