// SPDX-License-Identifier: Apache-2.0
// x.name, x[key] and x[a:b:c], with Jinja's rules: attributes of the object first for a dot, its
// items first for brackets, undefined where there is neither.
#pragma once

#include <optional>

#include "base/status.h"
#include "tokenizer/jinja/heap.h"
#include "tokenizer/jinja/value.h"

namespace ingot::jinja {

Result<Value> get_attribute(Heap& heap, Value owner, std::string_view name);
Result<Value> get_item(Heap& heap, Value owner, Value key);
// The attribute of the object itself, absent where it has none: no fallback to items.
Result<Value> own_attribute(Heap& heap, Value owner, std::string_view name);
// Each bound is None or an integer.
Result<Value> get_slice(Heap& heap, Value owner, Value from, Value to, Value step);

Result<Value> namespace_attribute(Heap& heap, const NamespaceObject& names, std::string_view name);
Status set_namespace_attribute(Heap& heap, NamespaceObject& names, std::string_view name,
                               Value value);

// "a.b.0": the path that map, sort and their like take; an integer is one step. `standard` stands
// for what is undefined on the way, where it is given.
Result<Value> get_path(Heap& heap, Value owner, Value path, Value standard = {});

// A position counted from the end where negative; the clamped bounds of a slice of `length`.
struct SliceBounds {
  int64_t from;
  int64_t to;
  int64_t step;
  int64_t count;
};
Result<SliceBounds> slice_bounds(Heap& heap, int64_t length, Value from, Value to, Value step);

}  // namespace ingot::jinja
