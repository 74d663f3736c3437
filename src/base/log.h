// SPDX-License-Identifier: Apache-2.0
// Messages to the operator, on standard error: for people at a terminal, as dated lines, or as
// JSON. Prompts, outputs and keys are never logged. Whatever is in a message or field, it stays one
// line.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "base/log_format.h"

namespace ingot {

class LogThread;

// Process-wide; thread-safe.
void set_log_level(LogLevel level);
void set_log_format(LogFormat format);
bool is_logged(LogLevel level);
void log_event(LogLevel level, std::string_view message, std::span<const LogField> fields);
void log_message(LogLevel level, std::string_view message);
// Lines go to this thread from now on; null: they are written by whoever logs.
void set_log_thread(LogThread* thread);
int64_t log_lines_dropped();  // by such threads, since the start

template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log_message(LogLevel::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  log_message(LogLevel::kWarning, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
  log_message(LogLevel::kError, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace ingot
