// SPDX-License-Identifier: Apache-2.0
// Numbers as printf and str.format() write them, apart from padding. Shared by both.
#pragma once

#include <cstdint>
#include <string>

namespace ingot::jinja {

// The most digits after the point that a template may ask for.
inline constexpr int64_t kMostPrecision = 400;

// Absolute value in base 2, 8, 10 or 16.
std::string format_magnitude(int64_t value, int base, bool is_upper);
// Absolute value; `type` is one of e, f, g in either case. Precision at most kMostPrecision.
std::string format_magnitude(double value, char type, int precision);
// Digits before the point in groups of three.
std::string with_thousands(const std::string& digits, char separator);

}  // namespace ingot::jinja
