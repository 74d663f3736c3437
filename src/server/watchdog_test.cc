// SPDX-License-Identifier: Apache-2.0
#include "server/watchdog.h"

#include <gtest/gtest.h>

#include <atomic>

namespace ingot {
namespace {

using namespace std::chrono_literals;
using Clock = StuckDetector::Clock;

EngineProgress in_step(int64_t steps, Clock::time_point began) {
  return {.steps = steps, .has_work = true, .step_began = began};
}

TEST(StuckDetector, AStepThatTakesTooLongIsStuck) {
  StuckDetector detector(1s);
  const Clock::time_point start{};
  for (auto time = 0ms; time <= 1000ms; time += 100ms) {
    detector.look(in_step(7, start), start + time);
    EXPECT_FALSE(detector.is_stuck());
  }
  EXPECT_EQ(detector.look(in_step(7, start), start + 1100ms), 1100ms);
  EXPECT_TRUE(detector.is_stuck());
  detector.look(in_step(8, start + 1200ms), start + 1200ms);
  EXPECT_FALSE(detector.is_stuck());
}

TEST(StuckDetector, ManyStepsAreNotStuckHoweverLongTheyTakeTogether) {
  StuckDetector detector(1s);
  for (int i = 0; i < 100; ++i) {
    detector.look(in_step(i, Clock::time_point(i * 400ms)), Clock::time_point(i * 400ms));
    detector.look(in_step(i, Clock::time_point(i * 400ms)), Clock::time_point(i * 400ms + 399ms));
    EXPECT_FALSE(detector.is_stuck());
  }
}

TEST(StuckDetector, AnIdleEngineIsNotStuckButOneThatLeavesWorkIs) {
  StuckDetector detector(1s);
  auto now = Clock::time_point{};
  for (int i = 0; i < 100; ++i) {
    now += 100ms;
    detector.look({.steps = 3, .has_work = false, .step_began = {}}, now);
  }
  EXPECT_FALSE(detector.is_stuck());
  for (int i = 0; i < 12; ++i) {
    now += 100ms;
    detector.look({.steps = 3, .has_work = true, .step_began = {}}, now);
  }
  EXPECT_TRUE(detector.is_stuck());
}

TEST(StuckDetector, TimeInWhichNobodyLookedDoesNotCount) {
  StuckDetector detector(1s);
  const Clock::time_point start{};
  detector.look(in_step(7, start), start);
  detector.look(in_step(7, start), start + 1h);  // the process was stopped
  EXPECT_FALSE(detector.is_stuck());
}

TEST(Watchdog, TellsOnceWhenItIsStuckAndOnceWhenItMoves) {
  std::atomic<int64_t> steps = 1;
  std::atomic<int> stuck = 0, recovered = 0, given_up = 0;
  const Watchdog watchdog({.limit = 20ms, .grace = 1h, .period = 1ms},
                          {.progress = [&] { return in_step(steps, Clock::time_point(1s)); },
                           .on_stuck = [&](auto) { ++stuck; },
                           .on_recovered = [&] { ++recovered; },
                           .on_given_up = [&] { ++given_up; }});
  while (stuck == 0)
    std::this_thread::sleep_for(1ms);
  ++steps;
  while (recovered == 0)
    std::this_thread::sleep_for(1ms);
  EXPECT_EQ(recovered, 1);
  EXPECT_EQ(given_up, 0);
}

TEST(Watchdog, GivesUpAfterTheGrace) {
  std::atomic<int> stuck = 0, given_up = 0;
  const Watchdog watchdog({.limit = 5ms, .grace = 5ms, .period = 1ms},
                          {.progress = [&] { return in_step(1, Clock::time_point(1s)); },
                           .on_stuck = [&](auto) { ++stuck; },
                           .on_recovered = [] {},
                           .on_given_up = [&] { ++given_up; }});
  while (given_up == 0)
    std::this_thread::sleep_for(1ms);
  EXPECT_EQ(stuck, 1);
}

TEST(ExitGuard, IsCalledOnlyWhenItIsLate) {
  std::atomic<int> late = 0;
  {
    const ExitGuard in_time(1h, [&] { ++late; });
  }
  EXPECT_EQ(late, 0);
  const ExitGuard too_late(1ms, [&] { ++late; });
  while (late == 0)
    std::this_thread::sleep_for(1ms);
}

}  // namespace
}  // namespace ingot
