// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/jinja/strftime.h"

#include <array>
#include <ctime>

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

// False where there is no such directive.
bool write_field(TextBuilder& out, std::chrono::local_seconds time, const Moment& moment,
                 char directive, char flag) {
  const int hour12 = moment.hour % 12 == 0 ? 12 : moment.hour % 12;
  const auto number = [&](int64_t value, size_t width, char padding = '0') {
    write_number(out, value, width, padding, flag);
  };
  const auto name = [&](std::string_view text) {
    for (const char c : text) {
      out.append(flag == '^' && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c);
    }
  };
  switch (directive) {
    case 'a':
      name(kDays[moment.weekday].substr(0, 3));
      break;
    case 'A':
      name(kDays[moment.weekday]);
      break;
    case 'b':
    case 'h':
      name(kMonths[moment.month - 1].substr(0, 3));
      break;
    case 'B':
      name(kMonths[moment.month - 1]);
      break;
    case 'c':
      write_time(out, time, "%a %b %e %H:%M:%S %Y");
      break;
    case 'C':
      number(moment.year / 100, 2);
      break;
    case 'd':
      number(moment.day, 2);
      break;
    case 'D':
    case 'x':
      write_time(out, time, "%m/%d/%y");
      break;
    case 'e':
      number(moment.day, 2, ' ');
      break;
    case 'f':
      number(0, 6);
      break;
    case 'F':
      write_time(out, time, "%Y-%m-%d");
      break;
    case 'g':
      number(iso_week(moment).year % 100, 2);
      break;
    case 'G':
      number(iso_week(moment).year, 4);
      break;
    case 'H':
      number(moment.hour, 2);
      break;
    case 'I':
      number(hour12, 2);
      break;
    case 'j':
      number(moment.year_day, 3);
      break;
    case 'k':
      number(moment.hour, 2, ' ');
      break;
    case 'l':
      number(hour12, 2, ' ');
      break;
    case 'm':
      number(moment.month, 2);
      break;
    case 'M':
      number(moment.minute, 2);
      break;
    case 'n':
      out.append('\n');
      break;
    case 'p':
      out.append(moment.hour < 12 ? "AM" : "PM");
      break;
    case 'P':
      out.append(moment.hour < 12 ? "am" : "pm");
      break;
    case 'r':
      write_time(out, time, "%I:%M:%S %p");
      break;
    case 'R':
      write_time(out, time, "%H:%M");
      break;
    case 's':
      number(moment.since_epoch, 1);
      break;
    case 'S':
      number(moment.second, 2);
      break;
    case 't':
      out.append('\t');
      break;
    case 'T':
    case 'X':
      write_time(out, time, "%H:%M:%S");
      break;
    case 'u':
      number(moment.weekday == 0 ? 7 : moment.weekday, 1);
      break;
    case 'U':
      number((moment.year_day + 6 - moment.weekday) / 7, 2);
      break;
    case 'V':
      number(iso_week(moment).week, 2);
      break;
    case 'w':
      number(moment.weekday, 1);
      break;
    case 'W':
      number((moment.year_day + 6 - (moment.weekday + 6) % 7) / 7, 2);
      break;
    case 'y':
      number(moment.year % 100, 2);
      break;
    case 'Y':
      number(moment.year, 1);
      break;
    case 'z':
    case 'Z':
      break;  // the clock has no zone
    case '%':
      out.append('%');
      break;
    default:
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
