// SPDX-License-Identifier: Apache-2.0
// The sets of characters that Oniguruma's escapes and property names stand for, spelled as the
// inside of a PCRE2 character class. First step of the translation in oniguruma.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ingot::tok::oniguruma {

// Bodies of character classes. White space is the White_Space property, which PCRE2's \s is not.
inline constexpr std::string_view kSpaceItems =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
inline constexpr std::string_view kWordItems =
    R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{24b6}-\x{24e9}\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189})";
// Outside of brackets Oniguruma looks Latin-1 characters up in a table that counts these as words.
inline constexpr std::string_view kLatinWordItems = R"(\x{b2}\x{b3}\x{b9}\x{bc}-\x{be})";
inline constexpr std::string_view kHexItems = "0-9A-Fa-f";

// Part of a class: items for one bracket, or a complement that needs an alternative of its own.
struct Items {
  std::string text;
  bool is_negated = false;
};

constexpr bool is_ascii_alnum(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::string item_of(char32_t code_point);
std::string bracket(const Items& items);

// What \p{name} or [:name:] stands for; nothing if it is no name at all. An unknown word becomes a
// script: PCRE2 knows whether it exists.
std::optional<Items> named_items(std::string_view name, bool is_posix);

}  // namespace ingot::tok::oniguruma
