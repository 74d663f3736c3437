// SPDX-License-Identifier: Apache-2.0
// Notices when the engine stops moving: a step that takes too long, or work that no step begins.
// It only looks and judges; what follows (health, stacks, the end) is told to it as actions.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

#include "ingot/engine.h"

namespace ingot {

// Judges what it is shown. Time counts only while somebody looks: a machine that was asleep, or a
// process that was stopped, is no reason for an alarm. Single thread.
class StuckDetector {
 public:
  using Clock = std::chrono::steady_clock;
  explicit StuckDetector(std::chrono::milliseconds limit) : limit_(limit) {}

  // How long nothing has moved; 0 when something has since the last look.
  Clock::duration look(const EngineProgress& progress, Clock::time_point now);
  bool is_stuck() const { return unmoved_ > limit_; }

 private:
  const std::chrono::milliseconds limit_;
  std::optional<EngineProgress> last_;
  Clock::time_point last_look_;
  Clock::duration unmoved_{0};
};

struct WatchdogOptions {
  std::chrono::milliseconds limit{120'000};
  std::chrono::milliseconds grace{10'000};  // to move again, once it is stuck
  std::chrono::milliseconds period{100};
};

// All on the watchdog's thread.
struct WatchdogActions {
  std::function<EngineProgress()> progress;
  std::function<void(StuckDetector::Clock::duration unmoved)> on_stuck;
  std::function<void()> on_recovered;
  std::function<void()> on_given_up;  // once, and last
};

// Looks until it is destroyed.
class Watchdog {
 public:
  Watchdog(const WatchdogOptions& options, WatchdogActions actions);

 private:
  void run(const std::stop_token& stop) const;

  const WatchdogOptions options_;
  const WatchdogActions actions_;
  std::jthread thread_;  // last: it uses all of the above
};

// For the end of a server: destroying an engine waits for its step, which may be the stuck one.
// Unless this is destroyed within `limit`, `on_late` is called, on a thread of its own.
class ExitGuard {
 public:
  ExitGuard(std::chrono::milliseconds limit, std::function<void()> on_late);

 private:
  std::jthread thread_;
};

}  // namespace ingot
