// SPDX-License-Identifier: Apache-2.0
// strftime in the C locale, over a clock that the caller may fix: templates print today's date.
#pragma once

#include <chrono>
#include <string_view>

#include "tokenizer/jinja/heap.h"

namespace ingot::jinja {

std::chrono::local_seconds local_now();
// Unknown directives stay as they are, as glibc leaves them.
void write_time(TextBuilder& out, std::chrono::local_seconds time, std::string_view format);

}  // namespace ingot::jinja
