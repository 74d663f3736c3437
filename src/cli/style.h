// SPDX-License-Identifier: Apache-2.0
// Colours, where there is a terminal that wants them.
#pragma once

#include <string>
#include <string_view>

namespace ingot {

enum class Style { kDim, kBold, kPrompt, kError };

// `text` in that style when `fd` is a terminal and NO_COLOR is not set; else as it is.
std::string styled(std::string_view text, Style style, int fd);

}  // namespace ingot
