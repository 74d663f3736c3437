// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/jinja/strftime.h"

#include <array>
#include <ctime>
#include <optional>

namespace ingot::jinja {
namespace {

constexpr std::string_view kDays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                      "Thursday", "Friday", "Saturday"};
constexpr std::string_view kMonths[] = {"January",   "February", "March",    "April",
                                        "May",       "June",     "July",     "August",
                                        "September", "October",  "November", "December"};

struct Moment {
  int year, month, day, weekday, year_day, hour, minute, second;
  int64_t since_epoch;
};

Moment split(std::chrono::local_seconds time) {
  using std::chrono::days;
  using std::chrono::floor;
  const auto day = floor<days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  const auto new_year = std::chrono::local_days(date.year() / std::chrono::January / 1);
  return {.year = static_cast<int>(date.year()),
          .month = static_cast<int>(static_cast<unsigned>(date.month())),
          .day = static_cast<int>(static_cast<unsigned>(date.day())),
          .weekday = static_cast<int>(std::chrono::weekday(day).c_encoding()),
          .year_day = static_cast<int>((day - new_year).count()) + 1,
          .hour = static_cast<int>(clock.hours().count()),
          .minute = static_cast<int>(clock.minutes().count()),
          .second = static_cast<int>(clock.seconds().count()),
          .since_epoch = time.time_since_epoch().count()};
}

struct IsoWeek {
  int year;
  int week;
};

bool is_leap(int year) {
  return std::chrono::year(year).is_leap();
}

// The week with the year's first Thursday is its first.
IsoWeek iso_week(const Moment& moment) {
  const int monday_based = (moment.weekday + 6) % 7;
  const int week = (moment.year_day - 1 - monday_based + 10) / 7;
  if (week < 1) {
    const int last = moment.year - 1;
    const int year_day = moment.year_day + (is_leap(last) ? 366 : 365);
    return {last, (year_day - 1 - monday_based + 10) / 7};
  }
  const int days = is_leap(moment.year) ? 366 : 365;
  if (week == 53 && days - moment.year_day < 3 - monday_based) return {moment.year + 1, 1};
  return {moment.year, week};
}

// A number with the padding its directive has, or that its flag asks for: %-d, %_d, %0e.
void write_number(TextBuilder& out, int64_t value, size_t width, char padding, char flag) {
  if (flag == '-') width = 0;
  if (flag == '_') padding = ' ';
  if (flag == '0') padding = '0';
  const std::string digits = fmt::format("{}", value);
  if (digits.size() < width) out.repeat(std::string_view(&padding, 1), width - digits.size());
  out.append(digits);
}

struct Number {
  int64_t value;
  size_t width;
  char padding = '0';
};

std::optional<Number> date_number(const Moment& moment, char directive) {
  switch (directive) {
    case 'C':
      return Number{moment.year / 100, 2};
    case 'd':
      return Number{moment.day, 2};
    case 'e':
      return Number{moment.day, 2, ' '};
    case 'g':
      return Number{iso_week(moment).year % 100, 2};
    case 'G':
      return Number{iso_week(moment).year, 4};
    case 'j':
      return Number{moment.year_day, 3};
    case 'm':
      return Number{moment.month, 2};
    case 'u':
      return Number{moment.weekday == 0 ? 7 : moment.weekday, 1};
    case 'U':
      return Number{(moment.year_day + 6 - moment.weekday) / 7, 2};
    case 'V':
      return Number{iso_week(moment).week, 2};
    case 'w':
      return Number{moment.weekday, 1};
    case 'W':
      return Number{(moment.year_day + 6 - (moment.weekday + 6) % 7) / 7, 2};
    case 'y':
      return Number{moment.year % 100, 2};
    case 'Y':
      return Number{moment.year, 1};
    default:
      return std::nullopt;
  }
}

std::optional<Number> clock_number(const Moment& moment, char directive) {
  const int hour12 = moment.hour % 12 == 0 ? 12 : moment.hour % 12;
  switch (directive) {
    case 'f':
      return Number{0, 6};
    case 'H':
      return Number{moment.hour, 2};
    case 'I':
      return Number{hour12, 2};
    case 'k':
      return Number{moment.hour, 2, ' '};
    case 'l':
      return Number{hour12, 2, ' '};
    case 'M':
      return Number{moment.minute, 2};
    case 's':
      return Number{moment.since_epoch, 1};
    case 'S':
      return Number{moment.second, 2};
    default:
      return std::nullopt;
  }
}

std::optional<std::string_view> name_of(const Moment& moment, char directive) {
  switch (directive) {
    case 'a':
      return kDays[moment.weekday].substr(0, 3);
    case 'A':
      return kDays[moment.weekday];
    case 'b':
    case 'h':
      return kMonths[moment.month - 1].substr(0, 3);
    case 'B':
      return kMonths[moment.month - 1];
    default:
      return std::nullopt;
  }
}

std::optional<std::string_view> mark_of(const Moment& moment, char directive) {
  switch (directive) {
    case 'p':
      return moment.hour < 12 ? "AM" : "PM";
    case 'P':
      return moment.hour < 12 ? "am" : "pm";
    case 'n':
      return "\n";
    case 't':
      return "\t";
    case '%':
      return "%";
    case 'z':
    case 'Z':
      return "";  // the clock has no zone
    default:
      return std::nullopt;
  }
}

// Directives that stand for several others.
std::optional<std::string_view> expansion_of(char directive) {
  switch (directive) {
    case 'c':
      return "%a %b %e %H:%M:%S %Y";
    case 'D':
    case 'x':
      return "%m/%d/%y";
    case 'F':
      return "%Y-%m-%d";
    case 'r':
      return "%I:%M:%S %p";
    case 'R':
      return "%H:%M";
    case 'T':
    case 'X':
      return "%H:%M:%S";
    default:
      return std::nullopt;
  }
}

// False where there is no such directive.
bool write_field(TextBuilder& out, std::chrono::local_seconds time, const Moment& moment,
                 char directive, char flag) {
  std::optional<Number> number = date_number(moment, directive);
  if (!number) number = clock_number(moment, directive);
  if (number) {
    write_number(out, number->value, number->width, number->padding, flag);
  } else if (const auto name = name_of(moment, directive)) {
    for (const char c : *name)
      out.append(flag == '^' && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c);
  } else if (const auto mark = mark_of(moment, directive)) {
    out.append(*mark);
  } else if (const auto expansion = expansion_of(directive)) {
    write_time(out, time, *expansion);
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::chrono::local_seconds local_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  return std::chrono::local_seconds(std::chrono::seconds(now + parts.tm_gmtoff));
}

void write_time(TextBuilder& out, std::chrono::local_seconds time, std::string_view format) {
  out.fail(out.heap().budget().scan(format.size()));
  const Moment moment = split(time);
  for (size_t at = 0; at < format.size() && !out.has_failed(); ++at) {
    if (format[at] != '%' || at + 1 == format.size()) {
      out.append(format[at]);
      continue;
    }
    const size_t begin = at++;
    char flag = '\0';
    if (std::string_view("-_0^#").find(format[at]) != std::string_view::npos &&
        at + 1 < format.size()) {
      flag = format[at++];
    }
    if (!write_field(out, time, moment, format[at], flag))
      out.append(format.substr(begin, at - begin + 1));
  }
}

}  // namespace ingot::jinja
