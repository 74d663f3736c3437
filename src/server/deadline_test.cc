// SPDX-License-Identifier: Apache-2.0
#include "server/deadline.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace ingot {
namespace {

using std::chrono::milliseconds;

TEST(Deadline, PassesOnceAndNotBeforeItsTime) {
  asio::io_context io;
  int passed = 0;
  Deadline deadline(io.get_executor(), [&] { ++passed; });
  const auto start = Deadline::Clock::now();
  deadline.set(milliseconds(1));
  deadline.set(milliseconds(20));  // later
  io.run();
  EXPECT_EQ(passed, 1);
  EXPECT_GE(Deadline::Clock::now() - start, milliseconds(20));
}

TEST(Deadline, PassesEarlierWhenMovedThere) {
  asio::io_context io;
  int passed = 0;
  Deadline deadline(io.get_executor(), [&] { ++passed; });
  deadline.set(std::chrono::hours(1));
  deadline.set(milliseconds(1));
  io.run();
  EXPECT_EQ(passed, 1);
}

TEST(Deadline, DoesNotPassOnceCleared) {
  asio::io_context io;
  int passed = 0;
  Deadline deadline(io.get_executor(), [&] { ++passed; });
  deadline.set(milliseconds(1));
  deadline.clear();
  io.run();
  EXPECT_EQ(passed, 0);
}

// The timer has fired and its handler stands in the line behind the one that destroys it.
TEST(Deadline, DoesNotPassAfterItsEnd) {
  asio::io_context io;
  int passed = 0;
  auto deadline = std::make_unique<Deadline>(io.get_executor(), [&] { ++passed; });
  asio::post(io, [&] {
    deadline->set(milliseconds(1));
    std::this_thread::sleep_for(milliseconds(5));
    asio::post(io, [&] { deadline = nullptr; });
  });
  io.run();
  EXPECT_EQ(passed, 0);
}

}  // namespace
}  // namespace ingot
