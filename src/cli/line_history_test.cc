// SPDX-License-Identifier: Apache-2.0
#include "cli/line_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

namespace ingot {
namespace {

using testing::ElementsAre;

class LineHistoryTest : public testing::Test {
 protected:
  std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) /
                                  testing::UnitTest::GetInstance()->current_test_info()->name();
  std::filesystem::path file_ = folder_ / "state" / "history";

  void SetUp() override { std::filesystem::remove_all(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
};

TEST_F(LineHistoryTest, ComesBackInTheNextSessionWithItsLineBreaks) {
  LineHistory first(file_);
  first.add("hello");
  first.add("two\nlines \\n");
  EXPECT_THAT(LineHistory(file_).entries(), ElementsAre("hello", "two\nlines \\n"));
}

TEST_F(LineHistoryTest, IsReadableByItsOwnerOnly) {
  LineHistory history(file_);
  history.add("secret");
  struct stat info {};
  ASSERT_EQ(::stat(file_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
}

TEST_F(LineHistoryTest, LeavesOutEmptyAndRepeatedEntries) {
  LineHistory history(file_);
  history.add("a");
  history.add("a");
  history.add("");
  history.add("b");
  history.add("a");
  EXPECT_THAT(history.entries(), ElementsAre("a", "b", "a"));
}

TEST_F(LineHistoryTest, KeepsTheEntriesOfTwoSessionsAtOnce) {
  LineHistory one(file_);
  LineHistory two(file_);
  one.add("from one");
  two.add("from two");
  EXPECT_THAT(LineHistory(file_).entries(), ElementsAre("from one", "from two"));
}

TEST_F(LineHistoryTest, ForgetsTheOldestBeyondItsLimit) {
  std::filesystem::create_directories(file_.parent_path());
  {
    std::ofstream out(file_);
    for (size_t i = 0; i < LineHistory::kMaxEntries + 50; ++i)
      out << "entry " << i << "\n";
  }
  LineHistory history(file_);
  ASSERT_EQ(history.entries().size(), LineHistory::kMaxEntries);
  EXPECT_EQ(history.entries().front(), "entry 50");
}

TEST_F(LineHistoryTest, WorksWhereNothingCanBeWritten) {
  LineHistory history("/proc/no/such/place");
  history.add("still here");
  EXPECT_THAT(history.entries(), ElementsAre("still here"));
}

}  // namespace
}  // namespace ingot
