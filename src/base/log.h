// SPDX-License-Identifier: Apache-2.0
// Messages to the operator, on standard error. Prompts, outputs and keys are never logged.
#pragma once

#include <fmt/core.h>

#include <string_view>
#include <utility>

namespace ingot {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

void set_log_level(LogLevel level);
void log_message(LogLevel level, std::string_view message);

template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log_message(LogLevel::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  log_message(LogLevel::kWarning, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace ingot
