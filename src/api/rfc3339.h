// SPDX-License-Identifier: Apache-2.0
// A point in time as RFC 3339 spells it, in UTC and to the nanosecond.
#pragma once

#include <chrono>
#include <string>

namespace ingot {

std::string rfc3339(
    std::chrono::system_clock::time_point time);  // "2024-07-26T12:34:56.000000789Z"

}  // namespace ingot
