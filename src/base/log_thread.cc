// SPDX-License-Identifier: Apache-2.0
#include "base/log_thread.h"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace ingot {
namespace {

// A pipe that is ready for writing takes as much without blocking.
constexpr size_t kChunk = 4096;
constexpr int kPollMs = 100;
constexpr int kPollsAtEnd = 10;  // that a stopped reader is waited for when we stop

}  // namespace

LogThread::LogThread(int descriptor, size_t most_bytes)
    : descriptor_(descriptor),
      most_bytes_(most_bytes),
      thread_([this](const std::stop_token& stop) { run(stop); }) {
  set_log_thread(this);
}

LogThread::~LogThread() {
  set_log_thread(nullptr);
}

bool LogThread::push(std::string_view line) {
  {
    const std::scoped_lock lock(mutex_);
    if (pending_.size() + line.size() > most_bytes_) {
      ++dropped_;
      return false;
    }
    pending_ += line;
  }
  news_.notify_one();
  return true;
}

void LogThread::flush(std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  is_idle_.wait_for(lock, limit, [&] { return pending_.empty() && !is_writing_; });
}

void LogThread::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (news_.wait(lock, stop, [&] { return !pending_.empty(); }) || !pending_.empty()) {
    std::string bytes = std::exchange(pending_, {});
    const size_t dropped = std::exchange(dropped_, 0);
    is_writing_ = true;
    lock.unlock();
    write(bytes, stop);
    if (dropped > 0) log_warning("{} lines of the log were dropped: nobody read them", dropped);
    lock.lock();
    is_writing_ = false;
    is_idle_.notify_all();
  }
}

void LogThread::write(std::string_view bytes, const std::stop_token& stop) const {
  int polls_left = kPollsAtEnd;
  while (!bytes.empty()) {
    pollfd poll{.fd = descriptor_, .events = POLLOUT, .revents = 0};
    const int ready = ::poll(&poll, 1, kPollMs);
    if (ready <= 0) {
      if (stop.stop_requested() && polls_left-- == 0) return;
      continue;
    }
    const ssize_t written = ::write(descriptor_, bytes.data(), std::min(bytes.size(), kChunk));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // the reader has gone: there is nobody to tell
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace ingot
