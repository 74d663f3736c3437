// SPDX-License-Identifier: Apache-2.0
// Writes the log for a server: whoever logs hands over the line and goes on, so a reader of the log
// that stops reading cannot stop the server. What does not fit into the bounded buffer is dropped
// and counted, and the log says so.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace ingot {

// Thread-safe. While it lives, base/log.h's messages go through it; one at a time.
class LogThread {
 public:
  explicit LogThread(int descriptor = 2, size_t most_bytes = size_t{4} << 20);
  // Writes what is there, as long as somebody reads.
  ~LogThread();
  LogThread(const LogThread&) = delete;
  LogThread& operator=(const LogThread&) = delete;

  // False when the line was dropped.
  bool push(std::string_view line);
  // Waits until all is written, so long at most.
  void flush(std::chrono::milliseconds limit);

 private:
  void run(const std::stop_token& stop);
  void write(std::string_view bytes, const std::stop_token& stop) const;

  const int descriptor_;
  const size_t most_bytes_;
  std::mutex mutex_;
  std::condition_variable_any news_, is_idle_;
  std::string pending_;      // under the mutex
  size_t dropped_ = 0;       // under the mutex; not yet told
  bool is_writing_ = false;  // under the mutex
  std::jthread thread_;      // last: it uses all of the above
};

}  // namespace ingot
