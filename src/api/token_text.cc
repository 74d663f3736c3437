// SPDX-License-Identifier: Apache-2.0
#include "api/token_text.h"

#include <array>

#include "tokenizer/byte_alphabet.h"

namespace ingot {

TokenText token_text(const Tokenizer& tokenizer, TokenId id) {
  // A tokenizer may drop the space before a text's first token, so the token is read after itself.
  const std::array<TokenId, 2> twice = {id, id};
  const std::string once = tokenizer.decode(std::span(twice).first(1));
  TokenText token{.text = tokenizer.decode(twice), .bytes = {}};
  if (token.text.starts_with(once)) {
    token.text.erase(0, once.size());
  } else {
    token.text = once;
  }
  token.bytes = token.text;
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  if (token.text.empty() || token.text.find(kReplacement) == std::string::npos) return token;
  const std::string_view piece = tokenizer.piece(id);
  if (const auto byte = tok::byte_of_piece(piece)) {
    token.bytes.assign(1, static_cast<char>(*byte));
  } else if (auto bytes = tok::bytes_of_piece(piece)) {
    token.bytes = *std::move(bytes);
  }
  return token;
}

}  // namespace ingot
