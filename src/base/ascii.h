// SPDX-License-Identifier: Apache-2.0
// Characters of ASCII by kind, whatever the locale.
#pragma once

namespace ingot {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The white space of JSON.
constexpr bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

}  // namespace ingot
