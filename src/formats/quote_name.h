// SPDX-License-Identifier: Apache-2.0
// Names out of files, made fit for an error message: a terminal must not obey them, nor a log
// drown.
#pragma once

#include <string>
#include <string_view>

namespace ingot {

// 'name' in single quotes; control characters and invalid UTF-8 replaced, the middle of a long one
// left out.
std::string quote_name(std::string_view name);
// True when `text` holds a character that a terminal would act upon.
bool has_control_characters(std::string_view text);

}  // namespace ingot
