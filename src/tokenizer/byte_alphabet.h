// SPDX-License-Identifier: Apache-2.0
// The alphabet of byte-level vocabularies: each of the 256 bytes written as a printable character,
// so that any bytes can stand in a vocabulary of text. Space is "Ġ", newline is "Ċ".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ingot::tok {

char32_t char_of_byte(uint8_t byte);
std::optional<uint8_t> byte_of_char(char32_t code_point);
// Every byte of `text` as its character, in UTF-8.
void append_byte_level(std::string& out, std::string_view text);
// The bytes that `piece` spells, or nothing if it holds a character outside the alphabet.
std::optional<std::string> bytes_of_piece(std::string_view piece);

inline constexpr std::string_view kSpaceMark = "\u2581";  // SentencePiece's space

// "<0x0A>" and back: how SentencePiece vocabularies spell a byte.
std::string byte_piece(uint8_t byte);
std::optional<uint8_t> byte_of_piece(std::string_view piece);

// The bytes that RWKV's vocabularies write with backslashes: \t \n \r \xHH, and any other character
// for itself.
std::string bytes_of_escaped(std::string_view piece);

}  // namespace ingot::tok
