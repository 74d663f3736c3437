// SPDX-License-Identifier: Apache-2.0
// Text a user hands to a command: a file, or standard input. Exact bytes, nothing trimmed.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/status.h"

namespace ingot {

// Most bytes read from a text file or from standard input.
inline constexpr uint64_t kInputBytes = uint64_t{1} << 30;

Result<std::string> read_stdin();
// "-" is standard input.
Result<std::string> read_text(std::string_view path);
Result<Json> read_json(std::string_view path);

}  // namespace ingot
