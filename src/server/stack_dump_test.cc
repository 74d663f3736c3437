// SPDX-License-Identifier: Apache-2.0
#include "server/stack_dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <csignal>
#include <thread>

namespace ingot {
namespace {

using namespace std::chrono_literals;

TEST(StackDump, EveryThreadTellsWhereItIs) {
  std::atomic<bool> is_over = false;
  std::jthread spinning([&] {
    while (!is_over) {
    }
  });
  std::jthread sleeping([&] {
    while (!is_over)
      std::this_thread::sleep_for(1ms);
  });
  ::pthread_setname_np(spinning.native_handle(), "spinning");
  ::pthread_setname_np(sleeping.native_handle(), "sleeping");
  for (int i = 0; i < 3; ++i) {
    const std::vector<ThreadStack> stacks = stacks_of_other_threads(2000ms);
    int found = 0;
    for (const ThreadStack& stack : stacks) {
      if (stack.name != "spinning" && stack.name != "sleeping") continue;
      ++found;
      EXPECT_GE(stack.frames.size(), 2U) << stack.name;
    }
    EXPECT_EQ(found, 2);
  }
  is_over = true;
}

TEST(StackDump, AThreadThatDoesNotAnswerHoldsNobodyUp) {
  std::atomic<bool> is_over = false;
  std::atomic<bool> is_deaf = false;
  std::jthread deaf([&] {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    is_deaf = true;
    while (!is_over)
      std::this_thread::sleep_for(1ms);
    ::pthread_sigmask(SIG_UNBLOCK, &all, nullptr);  // the late answer must not hurt
  });
  ::pthread_setname_np(deaf.native_handle(), "deaf");
  while (!is_deaf)
    std::this_thread::sleep_for(1ms);
  bool was_found = false;
  for (const ThreadStack& stack : stacks_of_other_threads(20ms)) {
    if (stack.name != "deaf") continue;
    was_found = true;
    EXPECT_TRUE(stack.frames.empty());
  }
  EXPECT_TRUE(was_found);
  is_over = true;
}

}  // namespace
}  // namespace ingot
