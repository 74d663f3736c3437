// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/jinja/iterate.h"

#include "tokenizer/jinja/errors.h"
#include "tokenizer/jinja/unicode_text.h"

namespace ingot::jinja {

bool is_iterable(Value value) {
  return value.is_sequence() || value.is_dict() || value.is_string() || value.is_undefined() ||
         value.is(Kind::kLoop);
}

Result<std::span<const Value>> iterate(Heap& heap, Value value) {
  if (value.is(Kind::kGenerator)) {
    SequenceObject& generator = value.sequence();
    const std::span<const Value> rest = generator.items.subspan(generator.taken);
    generator.taken = generator.items.size();
    return rest;
  }
  if (value.is_sequence()) return std::span<const Value>(value.items());
  if (value.is_undefined()) return std::span<const Value>();
  if (value.is_dict()) {
    INGOT_TRY(const Value keys, dict_view(heap, value.dict(), Kind::kKeys));
    return std::span<const Value>(keys.items());
  }
  if (value.is_string()) {
    INGOT_TRY(heap.budget().scan(value.text().size()));
    INGOT_TRY(const std::span<Value> characters, heap.array<Value>(length_of(value.string())));
    std::string_view rest = value.text();
    for (Value& character : characters) {
      const std::string_view bytes = first_character(rest);
      INGOT_TRY(character, heap.character(bytes));
      rest.remove_prefix(bytes.size());
    }
    return std::span<const Value>(characters);
  }
  return Status::invalid_data("'{}' object is not iterable", type_name(value));
}

Result<int64_t> length(Heap& heap, Value value) {
  if (value.is_string()) {
    INGOT_TRY(heap.budget().copy(value.text().size()));
    return static_cast<int64_t>(length_of(value.string()));
  }
  if (value.is_sequence() && !value.is(Kind::kGenerator)) {
    return static_cast<int64_t>(value.items().size());
  }
  if (value.is_dict()) return static_cast<int64_t>(value.dict().entries.size());
  if (value.is_undefined()) return 0;
  if (value.is(Kind::kLoop)) return static_cast<int64_t>(value.loop().items.size());
  return Status::invalid_data("object of type '{}' has no len()", type_name(value));
}

Result<Value> dict_view(Heap& heap, DictObject& dict, Kind kind) {
  INGOT_TRY(heap.budget().copy(dict.entries.size_bytes()));
  INGOT_TRY(const std::span<Value> items, heap.array<Value>(dict.entries.size()));
  for (size_t i = 0; i < items.size(); ++i) {
    const DictEntry& entry = dict.entries[i];
    if (kind == Kind::kItems) {
      INGOT_TRY(items[i], heap.pair(entry.key, entry.value));
    } else {
      items[i] = kind == Kind::kKeys ? entry.key : entry.value;
    }
  }
  return heap.own_sequence(kind, items);
}

}  // namespace ingot::jinja
