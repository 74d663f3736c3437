// SPDX-License-Identifier: Apache-2.0
// Python's iteration protocol, all at once: the items of a value as one span.
#pragma once

#include "base/status.h"
#include "tokenizer/jinja/heap.h"
#include "tokenizer/jinja/value.h"

namespace ingot::jinja {

bool is_iterable(Value value);
// Items of a sequence, keys of a dict, characters of a string, nothing of an undefined value. A
// generator is consumed. The span lives as long as the heap.
Result<std::span<const Value>> iterate(Heap& heap, Value value);
// len(): an error where Python has none.
Result<int64_t> length(Heap& heap, Value value);
// dict.keys(), .values() and .items().
Result<Value> dict_view(Heap& heap, DictObject& dict, Kind kind);

}  // namespace ingot::jinja
