// SPDX-License-Identifier: Apache-2.0
// Token ids as people and programs write them: "1,5,9", "1 5 9", [1, 5, 9] or {"ids": [1, 5, 9]}.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tokenizer/tokenizer.h"

namespace ingot {

// `source` names the text in errors ("--prompt-ids"). Nothing but ids and separators is accepted.
Result<std::vector<TokenId>> parse_token_ids(std::string_view text, std::string_view source);
std::string join_token_ids(std::span<const TokenId> ids);  // "1 5 9"

}  // namespace ingot
