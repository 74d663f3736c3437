// SPDX-License-Identifier: Apache-2.0
#include "cli/iso_time.h"

#include <charconv>
#include <optional>

namespace ingot {
namespace {

// Takes exactly `digits` digits off the front.
std::optional<int> take_number(std::string_view& text, size_t digits) {
  if (text.size() < digits) return std::nullopt;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, value);
  if (error != std::errc() || end != text.data() + digits || value < 0) return std::nullopt;
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

bool is_zone_or_fraction(std::string_view text) {
  return text.empty() || text.find_first_not_of(".0123456789:+-Zz") == std::string_view::npos;
}

std::optional<std::chrono::local_seconds> parse(std::string_view text) {
  const auto year = take_number(text, 4);
  if (!year || !take(text, '-')) return std::nullopt;
  const auto month = take_number(text, 2);
  if (!month || !take(text, '-')) return std::nullopt;
  const auto day = take_number(text, 2);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  if (!date.ok()) return std::nullopt;
  const std::chrono::local_seconds midnight{std::chrono::local_days(date)};
  if (text.empty()) return midnight;

  if (!take(text, 'T') && !take(text, ' ')) return std::nullopt;
  const auto hour = take_number(text, 2);
  if (!hour || *hour > 23 || !take(text, ':')) return std::nullopt;
  const auto minute = take_number(text, 2);
  if (!minute || *minute > 59) return std::nullopt;
  std::optional<int> second = 0;
  if (take(text, ':')) second = take_number(text, 2);
  if (!second || *second > 59 || !is_zone_or_fraction(text)) return std::nullopt;
  return midnight + std::chrono::hours(*hour) + std::chrono::minutes(*minute) +
         std::chrono::seconds(*second);
}

}  // namespace

Result<std::chrono::local_seconds> parse_iso_time(std::string_view text) {
  if (const auto time = parse(text)) return *time;
  return Status::invalid_argument("'{}' is not a time; write it as 2024-07-26T12:34:56", text);
}

}  // namespace ingot
