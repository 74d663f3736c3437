// SPDX-License-Identifier: Apache-2.0
// Words of a request as the token ids that the engine works with: bad words, and the breakers of
// DRY.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "tokenizer/tokenizer.h"

namespace ingot {

// Each word as it is spelled at the start of a text and after a space, as vLLM does.
Result<std::vector<std::vector<TokenId>>> bad_word_ids(const Tokenizer& tokenizer,
                                                       std::span<const std::string> words);

// Every way in which generated tokens can spell a breaker: a token whose text holds it, or one that
// ends with its beginning, followed by the tokens of its rest. Looks through the vocabulary once.
Result<std::vector<std::vector<TokenId>>> breaker_ids(const Tokenizer& tokenizer,
                                                      std::span<const std::string> breakers);

}  // namespace ingot
