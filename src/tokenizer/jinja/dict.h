// SPDX-License-Identifier: Apache-2.0
// Dicts: built once, with Python's rule for repeated keys (first place, last value), then only
// read. Look-ups scan small dicts and search a sorted index in larger ones, so no choice of keys
// makes them slow.
#pragma once

#include <vector>

#include "base/status.h"
#include "tokenizer/jinja/heap.h"
#include "tokenizer/jinja/value.h"

namespace ingot::jinja {

// The value under `key`, which must be hashable; absent where there is none.
Result<Value> find_key(Heap& heap, DictObject& dict, Value key);
Result<Value> find_key(Heap& heap, DictObject& dict, std::string_view key);

class DictBuilder {
 public:
  explicit DictBuilder(Heap& heap) : heap_(heap) {}
  Status add(Value key, Value value);
  Result<Value> finish();

 private:
  Heap& heap_;
  std::vector<DictEntry> entries_;
};

// The dict of entries whose keys are known to differ.
Result<Value> make_dict(Heap& heap, std::span<DictEntry> entries);
// For each key, the position of the first key equal to it.
Result<std::vector<uint32_t>> first_positions(Heap& heap, std::span<const Value> keys);

}  // namespace ingot::jinja
