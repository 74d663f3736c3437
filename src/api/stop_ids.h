// SPDX-License-Identifier: Apache-2.0
// Every token that ends an answer. Checkpoints often name only one of them: the tokenizer's eos,
// while the chat template closes turns with another.
#pragma once

#include <span>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace ingot {

// `configured` comes from config and generation_config; ids outside [0, vocab) are left out.
// `tokenizer` may be null. Sorted, each once.
std::vector<TokenId> collect_stop_ids(const Tokenizer* tokenizer,
                                      std::span<const TokenId> configured, int64_t vocab);

}  // namespace ingot
