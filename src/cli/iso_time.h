// SPDX-License-Identifier: Apache-2.0
// A point in local time as `--now` takes it: 2024-07-26, 2024-07-26T12:34:56, or with a space.
#pragma once

#include <chrono>
#include <string_view>

#include "base/status.h"

namespace ingot {

// A fraction of a second and a zone ("Z", "+02:00") are accepted and ignored: the clock of a
// template is a local one.
Result<std::chrono::local_seconds> parse_iso_time(std::string_view text);

}  // namespace ingot
