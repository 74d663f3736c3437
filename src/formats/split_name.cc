// SPDX-License-Identifier: Apache-2.0
#include "formats/split_name.h"

#include <fmt/core.h>

#include <algorithm>

namespace ingot {
namespace {

constexpr size_t kDigits = 5;

std::optional<uint32_t> five_digits(std::string_view text) {
  uint32_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<uint32_t>(c - '0');
  }
  return text.size() == kDigits ? std::optional(value) : std::nullopt;
}

}  // namespace

std::string SplitName::part(uint32_t part_number) const {
  return fmt::format("{}-{:05}-of-{:05}{}", prefix, part_number, count, extension);
}

std::optional<SplitName> parse_split_name(std::string_view name) {
  constexpr size_t kTail = 1 + kDigits + 4 + kDigits;  // -NNNNN-of-NNNNN
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot < kTail) return std::nullopt;
  const std::string_view tail = name.substr(dot - kTail, kTail);
  const auto number = five_digits(tail.substr(1, kDigits));
  const auto count = five_digits(tail.substr(kTail - kDigits));
  if (tail[0] != '-' || tail.substr(1 + kDigits, 4) != "-of-" || !number || !count)
    return std::nullopt;
  if (*number == 0 || *number > *count) return std::nullopt;
  return SplitName{std::string(name.substr(0, dot - kTail)), *number, *count,
                   std::string(name.substr(dot))};
}

}  // namespace ingot
