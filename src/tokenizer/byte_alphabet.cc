// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/byte_alphabet.h"

#include <array>
#include <charconv>
#include <system_error>

#include "base/utf8.h"

namespace ingot::tok {

namespace {

constexpr char32_t kFirstStandIn = 0x100;
constexpr size_t kAlphabetEnd = 0x144;  // 68 bytes have no printable form of their own

constexpr bool is_printable(uint32_t byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
  std::array<uint16_t, 256> chars{};
  std::array<int16_t, kAlphabetEnd> bytes{};  // -1: not in the alphabet
};

constexpr Alphabet make_alphabet() {
  Alphabet alphabet;
  for (int16_t& byte : alphabet.bytes)
    byte = -1;
  uint32_t next = kFirstStandIn;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const uint32_t code_point = is_printable(byte) ? byte : next++;
    alphabet.chars[byte] = static_cast<uint16_t>(code_point);
    alphabet.bytes[code_point] = static_cast<int16_t>(byte);
  }
  return alphabet;
}
constexpr Alphabet kAlphabet = make_alphabet();

std::optional<uint8_t> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<uint8_t>(c - '0');
  if (c >= 'A' && c <= 'F') return static_cast<uint8_t>(c - 'A' + 10);
  if (c >= 'a' && c <= 'f') return static_cast<uint8_t>(c - 'a' + 10);
  return std::nullopt;
}

}  // namespace

char32_t char_of_byte(uint8_t byte) {
  return kAlphabet.chars[byte];
}

std::optional<uint8_t> byte_of_char(char32_t code_point) {
  if (code_point >= kAlphabetEnd || kAlphabet.bytes[code_point] < 0) return std::nullopt;
  return static_cast<uint8_t>(kAlphabet.bytes[code_point]);
}

void append_byte_level(std::string& out, std::string_view text) {
  for (const char c : text) {
    const char32_t code_point = kAlphabet.chars[static_cast<uint8_t>(c)];
    if (code_point < 0x80) {
      out.push_back(static_cast<char>(code_point));
    } else {
      out.push_back(static_cast<char>(0xC0 | (code_point >> 6)));
      out.push_back(static_cast<char>(0x80 | (code_point & 0x3F)));
    }
  }
}

std::optional<std::string> bytes_of_piece(std::string_view piece) {
  std::string bytes;
  bytes.reserve(piece.size());
  for (size_t offset = 0; offset < piece.size();) {
    const utf8::Decoded decoded = utf8::decode(piece.substr(offset));
    const std::optional<uint8_t> byte = byte_of_char(decoded.code_point);
    if (!decoded.is_valid || !byte) return std::nullopt;
    bytes.push_back(static_cast<char>(*byte));
    offset += decoded.size;
  }
  return bytes;
}

std::string byte_piece(uint8_t byte) {
  static constexpr std::string_view kDigits = "0123456789ABCDEF";
  return {'<', '0', 'x', kDigits[byte >> 4], kDigits[byte & 0xF], '>'};
}

std::optional<uint8_t> byte_of_piece(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece[5] != '>') return std::nullopt;
  const std::optional<uint8_t> high = hex_digit(piece[3]);
  const std::optional<uint8_t> low = hex_digit(piece[4]);
  // Rust's parser, which the reference uses, also takes a sign: "<0x+A>" is the byte 0x0A.
  if (!high && piece[3] == '+' && low) return low;
  if (!high || !low) return std::nullopt;
  return static_cast<uint8_t>(*high << 4 | *low);
}

std::string bytes_of_escaped(std::string_view piece) {
  std::string bytes;
  for (size_t at = 0; at < piece.size(); ++at) {
    if (piece[at] != '\\') {
      bytes += piece[at];
      continue;
    }
    if (++at == piece.size()) break;
    switch (piece[at]) {
      case 't':
        bytes += '\t';
        break;
      case 'n':
        bytes += '\n';
        break;
      case 'r':
        bytes += '\r';
        break;
      case 'x': {
        const std::string_view digits = piece.substr(at + 1, 2);
        uint8_t byte = 0;
        const auto [end, problem] =
            std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
        const auto count = static_cast<size_t>(end - digits.data());
        if (problem == std::errc() && count == 2) bytes += static_cast<char>(byte);
        at += count;
        break;
      }
      default:
        bytes += piece[at];
    }
  }
  return bytes;
}

}  // namespace ingot::tok
