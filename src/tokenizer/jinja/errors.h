// SPDX-License-Identifier: Apache-2.0
// The errors that many operations share. Their wording follows Python and Jinja, so that a
// template's author recognises them.
#pragma once

#include <string>

#include "base/status.h"
#include "tokenizer/jinja/heap.h"
#include "tokenizer/jinja/value.h"

namespace ingot::jinja {

// What is wrong with using this undefined value.
std::string undefined_message(Heap& heap, Value undefined);
// Ok unless `value` is undefined.
Status check_defined(Heap& heap, Value value);
// `value` is no string: "expected a string, not int", or what is undefined.
Result<std::string_view> expect_text(Heap& heap, Value value);
Result<int64_t> expect_integer(Heap& heap, Value value);

}  // namespace ingot::jinja
