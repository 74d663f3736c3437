// SPDX-License-Identifier: Apache-2.0
// "{} of {name:>8}".format(...): fields by position and name, attributes and items of them,
// conversions and format specifications.
#pragma once

#include "base/status.h"
#include "tokenizer/jinja/heap.h"
#include "tokenizer/jinja/value.h"

namespace ingot::jinja {

Result<Value> format_braces(Heap& heap, Value format, const CallArgs& args);

}  // namespace ingot::jinja
