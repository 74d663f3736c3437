// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/charsmap.h"

#include <cstring>

namespace ingot::tok {

namespace {

// A unit of the double array: bits 0-7 and 31 hold the label, bit 8 says that a key ends here, bits
// 10-30 (shifted by 8 where bit 9 is set) the offset of the children.
uint32_t offset_of(uint32_t unit) {
  return (unit >> 10) << ((unit & (1U << 9)) >> 6);
}
uint32_t label_of(uint32_t unit) {
  return unit & ((1U << 31) | 0xFF);
}
bool has_value(uint32_t unit) {
  return ((unit >> 8) & 1) != 0;
}
uint32_t value_of(uint32_t unit) {
  return unit & ((1U << 31) - 1);
}

}  // namespace

Result<Charsmap> Charsmap::parse(std::string_view blob, std::string_view source) {
  uint32_t trie_bytes = 0;
  if (blob.size() < sizeof(trie_bytes)) {
    return Status::invalid_data("{}: precompiled_charsmap has {} bytes, too few for its header",
                                source, blob.size());
  }
  std::memcpy(&trie_bytes, blob.data(), sizeof(trie_bytes));
  blob.remove_prefix(sizeof(trie_bytes));
  if (trie_bytes == 0 || trie_bytes % sizeof(uint32_t) != 0 || trie_bytes > blob.size()) {
    return Status::invalid_data(
        "{}: precompiled_charsmap says its trie has {} bytes, but {} follow", source, trie_bytes,
        blob.size());
  }
  Charsmap map;
  map.units_.resize(trie_bytes / sizeof(uint32_t));
  std::memcpy(map.units_.data(), blob.data(), trie_bytes);
  map.replacements_ = blob.substr(trie_bytes);
  map.replacements_.push_back('\0');  // so that the last one ends, whatever the file says
  return map;
}

std::string_view Charsmap::replacement(uint32_t offset) const {
  if (offset >= replacements_.size()) return {};
  return replacements_.c_str() + offset;
}

std::optional<Charsmap::Match> Charsmap::walk(std::string_view text, bool stop_at_first) const {
  std::optional<Match> best;
  size_t at = offset_of(units_[0]);
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if (byte == 0) break;
    at ^= byte;
    if (at >= units_.size() || label_of(units_[at]) != byte) break;
    const uint32_t unit = units_[at];
    at ^= offset_of(unit);
    if (!has_value(unit)) continue;
    if (at >= units_.size()) break;
    best = Match{i + 1, replacement(value_of(units_[at]))};
    if (stop_at_first) break;
  }
  return best;
}

std::optional<Charsmap::Match> Charsmap::longest_prefix(std::string_view text) const {
  return walk(text, false);
}

std::optional<std::string_view> Charsmap::shortest_prefix(std::string_view text) const {
  const std::optional<Match> match = walk(text, true);
  if (!match) return std::nullopt;
  return match->replacement;
}

std::optional<std::string> decode_base64(std::string_view text) {
  while (text.ends_with('='))
    text.remove_suffix(1);
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    uint32_t value = 0;
    if (c >= 'A' && c <= 'Z') {
      value = static_cast<uint32_t>(c - 'A');
    } else if (c >= 'a' && c <= 'z') {
      value = static_cast<uint32_t>(c - 'a') + 26;
    } else if (c >= '0' && c <= '9') {
      value = static_cast<uint32_t>(c - '0') + 52;
    } else if (c == '+') {
      value = 62;
    } else if (c == '/') {
      value = 63;
    } else {
      return std::nullopt;
    }
    bits = bits << 6 | value;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes.push_back(static_cast<char>(bits >> count & 0xFF));
  }
  return bytes;
}

}  // namespace ingot::tok
