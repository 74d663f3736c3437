// SPDX-License-Identifier: Apache-2.0
// Python's arithmetic on template values. Integers have 64 bits; past them is an error, never a
// wrap.
#pragma once

#include "base/status.h"
#include "tokenizer/jinja/ast.h"
#include "tokenizer/jinja/heap.h"
#include "tokenizer/jinja/value.h"

namespace ingot::jinja {

Result<Value> binary(Heap& heap, BinaryOperator sign, Value left, Value right);
Result<Value> negative(Heap& heap, Value value);
Result<Value> positive(Heap& heap, Value value);

// `format % arguments` (printf_format.cc). `arguments` is a tuple, a dict, or the only argument.
Result<Value> format_percent(Heap& heap, Value format, Value arguments);

}  // namespace ingot::jinja
