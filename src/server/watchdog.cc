// SPDX-License-Identifier: Apache-2.0
#include "server/watchdog.h"

#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace ingot {
namespace {

// More between two looks was not the engine's fault: we did not run either.
constexpr std::chrono::milliseconds kLongestLook{500};

// A step that runs, or work that waits for one.
bool is_due(const EngineProgress& progress) {
  return progress.step_began.has_value() || progress.has_work;
}

bool has_moved(const EngineProgress& before, const EngineProgress& now) {
  return before.steps != now.steps || before.step_began != now.step_began ||
         is_due(before) != is_due(now);
}

}  // namespace

StuckDetector::Clock::duration StuckDetector::look(const EngineProgress& progress,
                                                   Clock::time_point now) {
  if (!last_ || !is_due(progress) || has_moved(*last_, progress)) {
    unmoved_ = Clock::duration::zero();
  } else {
    unmoved_ += std::min<Clock::duration>(now - last_look_, kLongestLook);
  }
  last_ = progress;
  last_look_ = now;
  return unmoved_;
}

Watchdog::Watchdog(const WatchdogOptions& options, WatchdogActions actions)
    : options_(options),
      actions_(std::move(actions)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {
  ::pthread_setname_np(thread_.native_handle(), "watchdog");
}

void Watchdog::run(const std::stop_token& stop) const {
  StuckDetector detector(options_.limit);
  bool was_stuck = false;
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  while (!stop.stop_requested()) {
    never.wait_for(lock, stop, options_.period, [] { return false; });
    const auto unmoved = detector.look(actions_.progress(), StuckDetector::Clock::now());
    if (detector.is_stuck() != was_stuck) {
      was_stuck = detector.is_stuck();
      if (was_stuck) {
        actions_.on_stuck(unmoved);
      } else {
        actions_.on_recovered();
      }
    }
    if (was_stuck && unmoved > options_.limit + options_.grace) return actions_.on_given_up();
  }
}

ExitGuard::ExitGuard(std::chrono::milliseconds limit, std::function<void()> on_late)
    : thread_([limit, on_late = std::move(on_late)](const std::stop_token& stop) {
        std::mutex mutex;
        std::condition_variable_any never;
        std::unique_lock lock(mutex);
        never.wait_for(lock, stop, limit, [] { return false; });
        if (!stop.stop_requested()) on_late();
      }) {}

}  // namespace ingot
