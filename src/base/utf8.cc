// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <algorithm>

namespace ingot::utf8 {
namespace {

struct Lead {
  int size;           // 0 for a byte that cannot begin a character
  uint8_t low, high;  // range of the second byte
};

Lead classify(uint8_t byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};  // surrogates
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};  // past U+10FFFF
  return {0, 0, 0};
}

// How many bytes of the character at the front are present and valid; `size` is how many it needs.
int valid_bytes(std::string_view text, const Lead& lead) {
  int good = 1;
  while (good < lead.size && static_cast<size_t>(good) < text.size()) {
    const auto byte = static_cast<uint8_t>(text[static_cast<size_t>(good)]);
    const uint8_t low = good == 1 ? lead.low : uint8_t{0x80};
    const uint8_t high = good == 1 ? lead.high : uint8_t{0xBF};
    if (byte < low || byte > high) break;
    ++good;
  }
  return good;
}

}  // namespace

Decoded decode(std::string_view text) {
  const auto first = static_cast<uint8_t>(text[0]);
  const Lead lead = classify(first);
  if (lead.size == 1) return {first, 1, true};
  if (lead.size == 0) return {kReplacement, 1, false};
  const int good = valid_bytes(text, lead);
  if (good < lead.size) return {kReplacement, static_cast<uint8_t>(good), false};
  char32_t code_point = first & (0x7Fu >> lead.size);
  for (int i = 1; i < lead.size; ++i) {
    code_point = (code_point << 6) | (static_cast<uint8_t>(text[static_cast<size_t>(i)]) & 0x3Fu);
  }
  return {code_point, static_cast<uint8_t>(lead.size), true};
}

void append(std::string& out, char32_t code_point) {
  if (code_point > 0x10FFFF || (code_point >= 0xD800 && code_point <= 0xDFFF))
    code_point = kReplacement;
  const auto put = [&](uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0 | (code_point >> 6));
    put(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    put(0xE0 | (code_point >> 12));
    put(0x80 | ((code_point >> 6) & 0x3F));
    put(0x80 | (code_point & 0x3F));
  } else {
    put(0xF0 | (code_point >> 18));
    put(0x80 | ((code_point >> 12) & 0x3F));
    put(0x80 | ((code_point >> 6) & 0x3F));
    put(0x80 | (code_point & 0x3F));
  }
}

bool is_valid(std::string_view text) {
  while (!text.empty()) {
    const Decoded next = decode(text);
    if (!next.is_valid) return false;
    text.remove_prefix(next.size);
  }
  return true;
}

std::string replace_invalid(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Decoded next = decode(text);
    if (next.is_valid) {
      out.append(text.substr(0, next.size));
    } else {
      append(out, kReplacement);
    }
    text.remove_prefix(next.size);
  }
  return out;
}

size_t unfinished_suffix(std::string_view text) {
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    const std::string_view tail = text.substr(text.size() - back);
    const Lead lead = classify(static_cast<uint8_t>(tail[0]));
    if (lead.size <= 1) continue;
    const bool is_open =
        lead.size > static_cast<int>(back) && valid_bytes(tail, lead) == static_cast<int>(back);
    return is_open ? back : 0;
  }
  return 0;
}

size_t count(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }));
}

}  // namespace ingot::utf8
