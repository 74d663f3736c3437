// SPDX-License-Identifier: Apache-2.0
// Something a coroutine waits for: set() is remembered until the next wait() takes it, so no news
// is lost between looking and waiting.
#pragma once

#include <chrono>

#include "server/asio.h"

namespace ingot {

// I/O thread only; one waiter.
class Signal {
 public:
  explicit Signal(const asio::any_io_executor& executor) : timer_(executor) {
    timer_.expires_at(std::chrono::steady_clock::time_point::max());
  }

  void set() {
    is_set_ = true;
    timer_.cancel();
  }

  Task<void> wait() {
    while (!is_set_)
      co_await timer_.async_wait(kAwait);
    is_set_ = false;
  }

 private:
  asio::steady_timer timer_;
  bool is_set_ = false;
};

}  // namespace ingot
