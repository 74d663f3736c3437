// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/jinja/from_json.h"

#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "tokenizer/jinja/compare.h"
#include "tokenizer/jinja/dict.h"

namespace ingot::jinja {
namespace {

Status measure_at(const Json& json, InputSize& size, int depth) {
  if (depth >= kValueDepth)
    return Status::invalid_argument("the input is nested deeper than {}", kValueDepth);
  ++size.values;
  if (json.is_string()) size.bytes += json.get_ref<const std::string&>().size();
  if (json.is_array()) {
    for (const Json& item : json)
      INGOT_TRY(measure_at(item, size, depth + 1));
  }
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) {
      size.bytes += key.size();
      INGOT_TRY(measure_at(value, size, depth + 1));
    }
  }
  return Status::ok();
}

Result<Value> array_value(Heap& heap, const Json& json) {
  INGOT_TRY(const std::span<Value> items, heap.array<Value>(json.size()));
  size_t next = 0;
  for (const Json& item : json) {
    INGOT_TRY(items[next], from_json(heap, item));
    ++next;
  }
  return heap.own_sequence(Kind::kList, items);
}

Result<Value> object_value(Heap& heap, const Json& json) {
  INGOT_TRY(const std::span<DictEntry> entries, heap.array<DictEntry>(json.size()));
  size_t next = 0;
  for (auto it = json.begin(); it != json.end(); ++it) {
    INGOT_TRY(entries[next].key, from_text(heap, it.key()));
    INGOT_TRY(entries[next].value, from_json(heap, it.value()));
    ++next;
  }
  return make_dict(heap, entries);
}

}  // namespace

Status measure(const Json& json, InputSize& size) {
  return measure_at(json, size, 0);
}

Result<Value> from_text(Heap& heap, std::string_view text) {
  if (utf8::is_valid(text)) return heap.view(text);
  return heap.text(utf8::replace_invalid(text));
}

// Its depth was bounded by measure().
Result<Value> from_json(Heap& heap, const Json& json) {
  switch (json.type()) {
    case Json::value_t::boolean:
      return Value::boolean(json.get<bool>());
    case Json::value_t::number_integer:
      return Value::integer(json.get<int64_t>());
    case Json::value_t::number_unsigned: {
      const auto number = json.get<uint64_t>();
      if (number > INT64_MAX) return Value::number(static_cast<double>(number));
      return Value::integer(static_cast<int64_t>(number));
    }
    case Json::value_t::number_float:
      return Value::number(json.get<double>());
    case Json::value_t::string:
      return from_text(heap, json.get_ref<const std::string&>());
    case Json::value_t::array:
      return array_value(heap, json);
    case Json::value_t::object:
      return object_value(heap, json);
    default:
      return Value::none();
  }
}

}  // namespace ingot::jinja
