// SPDX-License-Identifier: Apache-2.0
// Hand-written matchers for the patterns that most models use, found by the pattern's exact text.
// They are several times faster than a regular-expression engine, and linear where some of the
// patterns themselves are not.
#pragma once

#include <string_view>
#include <vector>

#include "tokenizer/spans.h"

namespace ingot::tok {

using Scanner = void (*)(std::string_view text, std::vector<Span>& spans);

// Null when the pattern is not one of the known ones.
Scanner find_scanner(std::string_view pattern);
// Every pattern with a scanner, for the tests that compare them with PCRE2.
std::vector<std::string_view> scanned_patterns();

}  // namespace ingot::tok
