// SPDX-License-Identifier: Apache-2.0
// A request's JSON as template values. Strings are views of the JSON, which must outlive the
// rendering; invalid UTF-8 in them is replaced.
#pragma once

#include "base/json.h"
#include "base/status.h"
#include "tokenizer/jinja/heap.h"
#include "tokenizer/jinja/value.h"

namespace ingot::jinja {

// Adds what `json` holds to `size`; too deep a nesting is refused here, before anything is built.
Status measure(const Json& json, InputSize& size);
Result<Value> from_json(Heap& heap, const Json& json);
Result<Value> from_text(Heap& heap, std::string_view text);

}  // namespace ingot::jinja
