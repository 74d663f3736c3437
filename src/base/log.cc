// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <atomic>
#include <cstdio>

namespace ingot {
namespace {
std::atomic<LogLevel> g_level{
    LogLevel::kWarning};  // NOLINT(readability-identifier-naming): process-wide by nature
}

void set_log_level(LogLevel level) {
  g_level.store(level);
}

void log_message(LogLevel level, std::string_view message) {
  if (level < g_level.load()) return;
  static constexpr const char* kNames[] = {"debug", "info", "warning", "error"};
  const std::string line = fmt::format("ingot: {}: {}\n", kNames[static_cast<int>(level)], message);
  std::fwrite(line.data(), 1, line.size(), stderr);  // one write: lines of threads do not mix
}

}  // namespace ingot
