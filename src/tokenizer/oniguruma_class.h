// SPDX-License-Identifier: Apache-2.0
// Character classes of Oniguruma: nested, negated, intersected with &&. PCRE2 has none of that, so
// a class may become a group of alternatives and lookaheads that matches the same one character.
#pragma once

#include <string>

#include "base/status.h"
#include "tokenizer/oniguruma_cursor.h"

namespace ingot::tok::oniguruma {

// Translates the class that opens at the cursor and moves behind it.
Result<std::string> translate_class(PatternCursor& cursor);

}  // namespace ingot::tok::oniguruma
