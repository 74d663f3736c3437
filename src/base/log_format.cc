// SPDX-License-Identifier: Apache-2.0
#include "base/log_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "base/utf8.h"

namespace ingot {
namespace {

constexpr std::array<std::string_view, 4> kLevels = {"debug", "info", "warning", "error"};

void append_time(std::string& out, std::chrono::system_clock::time_point time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::milliseconds>(time - day));
  fmt::format_to(std::back_inserter(out), "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
                 int{date.year()}, unsigned{date.month()}, unsigned{date.day()},
                 clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                 clock.subseconds().count());
}

// As inside a JSON string, or without its rules for quotes. C1 controls and the line separators end
// lines for some readers.
void append_escaped(std::string& out, std::string_view text, bool is_quoted) {
  while (!text.empty()) {
    const utf8::Decoded decoded = utf8::decode(text);
    const char32_t c = decoded.code_point;
    if (is_quoted && (c == '"' || c == '\\')) {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<uint32_t>(c));
    } else {
      utf8::append(out, c);
    }
    text.remove_prefix(decoded.size);
  }
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  append_escaped(out, text, true);
  out += '"';
}

// JSON has no numbers that are none.
void append_number(std::string& out, double value) {
  if (std::isfinite(value)) {
    fmt::format_to(std::back_inserter(out), "{}", value);
  } else {
    out += "null";
  }
}

bool is_bare(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return c > 0x20 && c < 0x7F && c != '"' && c != '\\' && c != '=';
  });
}

void append_value(std::string& out, const LogField& field, bool may_be_bare) {
  if (const auto* text = std::get_if<std::string_view>(&field.value)) {
    if (may_be_bare && is_bare(*text)) {
      out += *text;
    } else {
      append_quoted(out, *text);
    }
  } else if (const auto* integer = std::get_if<int64_t>(&field.value)) {
    fmt::format_to(std::back_inserter(out), "{}", *integer);
  } else if (const auto* number = std::get_if<double>(&field.value)) {
    append_number(out, *number);
  } else {
    out += std::get<bool>(field.value) ? "true" : "false";
  }
}

std::string json_line(std::chrono::system_clock::time_point time, LogLevel level,
                      std::string_view message, std::span<const LogField> fields) {
  std::string line = "{\"time\":\"";
  append_time(line, time);
  fmt::format_to(std::back_inserter(line),
                 "\",\"level\":\"{}\",\"message\":", kLevels[static_cast<size_t>(level)]);
  append_quoted(line, message);
  for (const LogField& field : fields) {
    line += ',';
    append_quoted(line, field.name);
    line += ':';
    append_value(line, field, false);
  }
  line += "}\n";
  return line;
}

}  // namespace

std::string format_log_line(LogFormat format, std::chrono::system_clock::time_point time,
                            LogLevel level, std::string_view message,
                            std::span<const LogField> fields) {
  if (format == LogFormat::kJson) return json_line(time, level, message, fields);
  std::string line;
  if (format == LogFormat::kPlain) {
    fmt::format_to(std::back_inserter(line), "ingot: {}: ", kLevels[static_cast<size_t>(level)]);
  } else {
    append_time(line, time);
    fmt::format_to(std::back_inserter(line), " {} ", kLevels[static_cast<size_t>(level)]);
  }
  append_escaped(line, message, false);
  for (const LogField& field : fields) {
    line += ' ';
    line += field.name;
    line += '=';
    append_value(line, field, true);
  }
  line += '\n';
  return line;
}

}  // namespace ingot
