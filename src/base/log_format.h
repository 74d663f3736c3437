// SPDX-License-Identifier: Apache-2.0
// How a message and its fields become one line of a log. Control characters are escaped, whoever
// sent them: a line can neither be forged nor drive a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace ingot {

enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError };

enum class LogFormat : uint8_t {
  kPlain,  // ingot: warning: ...
  kText,   // 2024-07-26T12:34:56.789Z info request id=4f2 status=200
  kJson,   // {"time":"2024-07-26T12:34:56.789Z","level":"info","message":"request","id":"4f2"}
};

struct LogField {
  std::string_view name;
  std::variant<std::string_view, int64_t, double, bool> value;
};

// With its line break.
std::string format_log_line(LogFormat format, std::chrono::system_clock::time_point time,
                            LogLevel level, std::string_view message,
                            std::span<const LogField> fields);

}  // namespace ingot
