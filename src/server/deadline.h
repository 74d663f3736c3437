// SPDX-License-Identifier: Apache-2.0
// A time limit that is moved often and passed seldom: moving it later costs nothing, the timer
// finds out when it fires.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "server/asio.h"

namespace ingot {

// I/O thread only. `passed` is not called once this is destroyed.
class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  Deadline(const asio::any_io_executor& executor, std::function<void()> passed)
      : timer_(executor), passed_(std::move(passed)) {}

  void set(Clock::duration time) { set_at(Clock::now() + time); }
  void set_at(Clock::time_point time) {
    limit_ = time;
    if (armed_ > limit_) arm();
  }
  void clear() { limit_ = Clock::time_point::max(); }

 private:
  void arm() {
    armed_ = limit_;
    timer_.expires_at(armed_);
    timer_.async_wait([this, life = std::weak_ptr(life_)](const boost::system::error_code& error) {
      // Moved earlier; or destroyed, maybe when this was already waiting for its turn.
      if (error || life.expired()) return;
      armed_ = Clock::time_point::max();
      if (limit_ == Clock::time_point::max()) return;
      if (Clock::now() < limit_) return arm();
      clear();
      passed_();
    });
  }

  asio::steady_timer timer_;
  std::function<void()> passed_;
  std::shared_ptr<const bool> life_ = std::make_shared<const bool>(true);
  Clock::time_point limit_ = Clock::time_point::max();
  Clock::time_point armed_ = Clock::time_point::max();
};

}  // namespace ingot
