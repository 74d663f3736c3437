// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/jinja/number_format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace ingot::jinja {
namespace {

void make_upper(std::string& text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
}

}  // namespace

std::string format_magnitude(int64_t value, int base, bool is_upper) {
  const uint64_t magnitude =
      value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  std::array<char, 70> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), magnitude, base);
  std::string digits(buffer.data(), end.ptr);
  if (is_upper) make_upper(digits);
  return digits;
}

std::string format_magnitude(double value, char type, int precision) {
  const char small = static_cast<char>(type | 0x20);
  std::string digits;
  if (std::isnan(value)) {
    digits = "nan";
  } else if (std::isinf(value)) {
    digits = "inf";
  } else {
    const auto layout = small == 'e'   ? std::chars_format::scientific
                        : small == 'f' ? std::chars_format::fixed
                                       : std::chars_format::general;
    std::array<char, kMostPrecision + 400> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), std::fabs(value),
                                   layout, precision);
    digits.assign(buffer.data(), end.ptr);
  }
  if (small != type) make_upper(digits);
  return digits;
}

std::string with_thousands(const std::string& digits, char separator) {
  const size_t whole = std::min(digits.find_first_of(".eE"), digits.size());
  std::string result;
  for (size_t i = 0; i < whole; ++i) {
    if (i > 0 && (whole - i) % 3 == 0) result += separator;
    result += digits[i];
  }
  return result + digits.substr(whole);
}

}  // namespace ingot::jinja
