// SPDX-License-Identifier: Apache-2.0
// Checked integers: sizes that come from files are added, multiplied and rounded here and nowhere
// else, so that no sum can wrap. An overflow is remembered and surfaces when the value is taken.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>

namespace ingot {

// An unsigned 64-bit value, or "too large". Immutable arithmetic; thread-safe.
class CheckedSize {
 public:
  constexpr CheckedSize() = default;
  template <std::integral T>  // implicit, because sizes mix freely with literals
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr CheckedSize(T value) : value_(static_cast<uint64_t>(value)), is_valid_(value >= T{0}) {}

  constexpr bool is_valid() const { return is_valid_; }
  constexpr std::optional<uint64_t> value() const {
    return is_valid_ ? std::optional<uint64_t>(value_) : std::nullopt;
  }
  // True only when valid and within `limit`: the usual last question before use.
  constexpr bool fits(uint64_t limit) const { return is_valid_ && value_ <= limit; }
  constexpr uint64_t value_or(uint64_t fallback) const { return is_valid_ ? value_ : fallback; }

  friend constexpr CheckedSize operator+(CheckedSize a, CheckedSize b) {
    CheckedSize sum;
    sum.is_valid_ =
        !__builtin_add_overflow(a.value_, b.value_, &sum.value_) && a.is_valid_ && b.is_valid_;
    return sum;
  }
  friend constexpr CheckedSize operator*(CheckedSize a, CheckedSize b) {
    CheckedSize product;
    product.is_valid_ =
        !__builtin_mul_overflow(a.value_, b.value_, &product.value_) && a.is_valid_ && b.is_valid_;
    return product;
  }
  // Rounds up to a multiple of `unit`; a zero unit is invalid.
  constexpr CheckedSize round_up(uint64_t unit) const {
    if (!is_valid_ || unit == 0) return invalid();
    const uint64_t rest = value_ % unit;
    return rest == 0 ? *this : *this + CheckedSize(unit - rest);
  }
  static constexpr CheckedSize invalid() {
    CheckedSize none;
    none.is_valid_ = false;
    return none;
  }

 private:
  uint64_t value_ = 0;
  bool is_valid_ = true;
};

// Narrows without loss, or nothing.
template <std::integral To, std::integral From>
constexpr std::optional<To> narrow(From value) {
  const To narrowed = static_cast<To>(value);
  if (static_cast<From>(narrowed) != value || (narrowed < To{0}) != (value < From{0}))
    return std::nullopt;
  return narrowed;
}

}  // namespace ingot
