// SPDX-License-Identifier: Apache-2.0
#include "formats/quote_name.h"

#include <cstddef>

#include "base/utf8.h"

namespace ingot {
namespace {

constexpr size_t kHeadBytes = 96;  // of a name too long to print whole
constexpr size_t kTailBytes = 32;

bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c <= 0x9F);
}

void append_printable(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const utf8::Decoded next = utf8::decode(text);
    utf8::append(out, is_control(next.code_point) ? utf8::kReplacement : next.code_point);
    text.remove_prefix(next.size);
  }
}

}  // namespace

std::string quote_name(std::string_view name) {
  std::string out = "'";
  if (name.size() <= kHeadBytes + kTailBytes) {
    append_printable(out, name);
  } else {
    append_printable(out, name.substr(0, kHeadBytes));
    out += "...";
    append_printable(out, name.substr(name.size() - kTailBytes));
  }
  out += '\'';
  return out;
}

bool has_control_characters(std::string_view text) {
  while (!text.empty()) {
    const utf8::Decoded next = utf8::decode(text);
    if (is_control(next.code_point)) return true;
    text.remove_prefix(next.size);
  }
  return false;
}

}  // namespace ingot
