// SPDX-License-Identifier: Apache-2.0
// Patterns in tokenizer files are Oniguruma's dialect (Ruby syntax, Unicode). This rewrites one for
// PCRE2, so that it means the same there: classes with intersections, \s \w \h \b, \p{names},
// intervals, and the options that share a letter but not a meaning.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace ingot::tok {

Result<std::string> pcre_from_oniguruma(std::string_view pattern);

}  // namespace ingot::tok
