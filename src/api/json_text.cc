// SPDX-License-Identifier: Apache-2.0
#include "api/json_text.h"

#include <array>
#include <charconv>

namespace ingot {
namespace {

void append_escape(std::string& out, char byte) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (byte) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default: {
      const auto value = static_cast<uint8_t>(byte);
      out += "\\u00";
      out += kHex[value >> 4];
      out += kHex[value & 15];
    }
  }
}

}  // namespace

void append_json_escaped(std::string& out, std::string_view text) {
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char byte = text[i];
    if (static_cast<uint8_t>(byte) >= 0x20 && byte != '"' && byte != '\\') continue;
    out.append(text, begin, i - begin);
    append_escape(out, byte);
    begin = i + 1;
  }
  out.append(text, begin);
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  append_json_escaped(out, text);
  out += '"';
}

void append_json_integer(std::string& out, int64_t value) {
  std::array<char, 24> digits{};
  const auto [end, problem] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  out.append(digits.data(), end);
}

}  // namespace ingot
