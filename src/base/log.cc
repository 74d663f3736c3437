// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <atomic>
#include <cstdio>
#include <mutex>

#include "base/log_thread.h"

namespace ingot {
namespace {

// NOLINTBEGIN(readability-identifier-naming): process-wide by nature
std::atomic<LogLevel> g_level{LogLevel::kWarning};
std::atomic<LogFormat> g_format{LogFormat::kPlain};
std::atomic<int64_t> g_dropped{0};
std::mutex g_mutex;
LogThread* g_thread = nullptr;  // under the mutex
// NOLINTEND(readability-identifier-naming)

}  // namespace

void set_log_level(LogLevel level) {
  g_level.store(level);
}

void set_log_format(LogFormat format) {
  g_format.store(format);
}

bool is_logged(LogLevel level) {
  return level >= g_level.load();
}

void set_log_thread(LogThread* thread) {
  const std::scoped_lock lock(g_mutex);
  g_thread = thread;
}

int64_t log_lines_dropped() {
  return g_dropped.load();
}

void log_event(LogLevel level, std::string_view message, std::span<const LogField> fields) {
  if (!is_logged(level)) return;
  const std::string line =
      format_log_line(g_format.load(), std::chrono::system_clock::now(), level, message, fields);
  const std::scoped_lock lock(g_mutex);
  if (g_thread == nullptr) {
    std::fwrite(line.data(), 1, line.size(), stderr);  // one write: lines of threads do not mix
  } else if (!g_thread->push(line)) {
    ++g_dropped;
  }
}

void log_message(LogLevel level, std::string_view message) {
  log_event(level, message, {});
}

}  // namespace ingot
