// SPDX-License-Identifier: Apache-2.0
// One token as text and as bytes, for lists of log-probabilities: as it reads inside a text, so
// that a leading space is kept. Bytes are exact also where they are only a part of a character.
#pragma once

#include <string>

#include "tokenizer/tokenizer.h"

namespace ingot {

struct TokenText {
  std::string text;   // invalid UTF-8 is replaced by U+FFFD
  std::string bytes;  // what it adds to the output
};
TokenText token_text(const Tokenizer& tokenizer, TokenId id);

}  // namespace ingot
