// SPDX-License-Identifier: Apache-2.0
// The arguments of a call in Python, a=1, b=["x", None], as a JSON object. Literals only.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ingot {

// `text` is what stands between the parentheses. Nothing when it is anything else than keywords
// with literals, or nested too deep.
std::optional<std::string> python_arguments(std::string_view text);

}  // namespace ingot
