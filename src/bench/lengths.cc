// SPDX-License-Identifier: Apache-2.0
#include "bench/lengths.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "engine/random.h"

namespace ingot {
namespace {

constexpr int64_t kLargest = int64_t{1} << 30;
constexpr size_t kMostNumbers = 4096;

Result<int64_t> parse_number(std::string_view text, std::string_view field, int64_t smallest) {
  int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = problem == std::errc() && end == text.data() + text.size();
  if (!is_number || value < smallest || value > kLargest) {
    return Status::invalid_argument("{}: '{}' is not a whole number from {} to {}", field, text,
                                    smallest, kLargest);
  }
  return value;
}

}  // namespace

int64_t Lengths::draw(uint64_t seed, uint64_t counter) const {
  const uint64_t bits = random_bits(seed, counter);
  if (!choices.empty()) return choices[bits % choices.size()];
  return low + static_cast<int64_t>(bits % static_cast<uint64_t>(high - low + 1));
}

std::string Lengths::to_string() const {
  if (!choices.empty()) return fmt::format("{}", fmt::join(choices, ","));
  return low == high ? fmt::format("{}", low) : fmt::format("{}:{}", low, high);
}

Result<std::vector<int64_t>> parse_numbers(std::string_view text, std::string_view field,
                                           int64_t smallest) {
  std::vector<int64_t> numbers;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    INGOT_TRY(const int64_t number, parse_number(text.substr(begin, end - begin), field, smallest));
    if (numbers.size() == kMostNumbers)
      return Status::invalid_argument("{}: more than {} numbers", field, kMostNumbers);
    numbers.push_back(number);
    begin = end + 1;
  }
  return numbers;
}

Result<Lengths> parse_lengths(std::string_view text, std::string_view field, int64_t smallest) {
  Lengths lengths;
  if (const size_t colon = text.find(':'); colon != std::string_view::npos) {
    INGOT_TRY(lengths.low, parse_number(text.substr(0, colon), field, smallest));
    INGOT_TRY(lengths.high, parse_number(text.substr(colon + 1), field, lengths.low));
    return lengths;
  }
  INGOT_TRY(std::vector<int64_t> numbers, parse_numbers(text, field, smallest));
  if (numbers.size() == 1) {
    lengths.low = lengths.high = numbers[0];
  } else {
    lengths.choices = std::move(numbers);
  }
  return lengths;
}

}  // namespace ingot
