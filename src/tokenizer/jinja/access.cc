// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/jinja/access.h"

#include <algorithm>
#include <charconv>

#include "tokenizer/jinja/builtins.h"
#include "tokenizer/jinja/compare.h"
#include "tokenizer/jinja/dict.h"
#include "tokenizer/jinja/errors.h"
#include "tokenizer/jinja/iterate.h"
#include "tokenizer/jinja/unicode_text.h"

namespace ingot::jinja {
namespace {

Result<Value> loop_attribute(Heap& heap, const LoopObject& loop, std::string_view name) {
  const auto index = static_cast<int64_t>(loop.index);
  const auto length = static_cast<int64_t>(loop.items.size());
  if (name == "index") return Value::integer(index + 1);
  if (name == "index0") return Value::integer(index);
  if (name == "first") return Value::boolean(index == 0);
  if (name == "last") return Value::boolean(index + 1 >= length);
  if (name == "length") return Value::integer(length);
  if (name == "revindex") return Value::integer(length - index);
  if (name == "revindex0") return Value::integer(length - index - 1);
  if (name == "depth") return Value::integer(loop.depth + 1);
  if (name == "depth0") return Value::integer(loop.depth);
  if (name == "previtem") {
    if (index == 0) return heap.undefined_because("there is no previous item");
    return loop.items[loop.index - 1];
  }
  if (name == "nextitem") {
    if (index + 1 >= length) return heap.undefined_because("there is no next item");
    return loop.items[loop.index + 1];
  }
  return Value();
}

Result<Value> cycler_attribute(const CyclerObject& cycler, std::string_view name) {
  if (name == "current") return cycler.items[cycler.position];
  return Value();
}

// The item itself, absent where there is none (IndexError, KeyError, TypeError in Python).
Result<Value> own_item(Heap& heap, Value owner, Value key) {
  if (owner.is_dict()) {
    if (key.is(Kind::kList) || key.is_dict()) return Value();
    INGOT_TRY(check_hashable(key));
    return find_key(heap, owner.dict(), key);
  }
  if (!key.is_integral()) return Value();
  int64_t index = key.as_integer();
  if (owner.is_string()) {
    INGOT_TRY(const int64_t length, jinja::length(heap, owner));
    if (index < 0) index += length;
    if (index < 0 || index >= length) return Value();
    const std::string_view rest =
        owner.text().substr(byte_offset(owner.string(), static_cast<size_t>(index)));
    if (owner.is_markup()) return heap.view(first_character(rest), true);
    return heap.character(first_character(rest));
  }
  if (!owner.is_indexable()) return Value();
  const auto length = static_cast<int64_t>(owner.items().size());
  if (index < 0) index += length;
  if (index < 0 || index >= length) return Value();
  return owner.items()[static_cast<size_t>(index)];
}

// Python's range[a:b:c] is a range again.
void set_slice_of_range(SequenceObject& part, const SequenceObject& whole,
                        const SliceBounds& bounds) {
  part.range[0] = whole.range[0] + bounds.from * whole.range[2];
  part.range[1] = whole.range[0] + bounds.to * whole.range[2];
  part.range[2] = whole.range[2] * bounds.step;
}

Result<Value> slice_of_sequence(Heap& heap, Value owner, const SliceBounds& bounds) {
  const auto count = static_cast<size_t>(bounds.count);
  // Sequences never change, so a part without gaps may share the whole's items.
  std::span<Value> items = owner.items().subspan(count == 0 ? 0 : static_cast<size_t>(bounds.from),
                                                 bounds.step == 1 ? count : 0);
  if (bounds.step != 1) {
    INGOT_TRY(heap.budget().copy(count * sizeof(Value)));
    INGOT_TRY(items, heap.array<Value>(count));
    for (size_t i = 0; i < count; ++i) {
      items[i] =
          owner.items()[static_cast<size_t>(bounds.from + static_cast<int64_t>(i) * bounds.step)];
    }
  }
  INGOT_TRY(const Value part, heap.own_sequence(owner.kind(), items));
  const bool is_small =
      bounds.step > -limits::kTemplateRange && bounds.step < limits::kTemplateRange;
  if (owner.is(Kind::kRange) && is_small)
    set_slice_of_range(part.sequence(), owner.sequence(), bounds);
  return part;
}

}  // namespace

Result<Value> own_attribute(Heap& heap, Value owner, std::string_view name) {
  if (owner.is(Kind::kNamespace)) return namespace_attribute(heap, owner.names(), name);
  if (owner.is(Kind::kLoop)) {
    INGOT_TRY(const Value found, loop_attribute(heap, owner.loop(), name));
    if (!found.is_absent()) return found;
  }
  if (owner.is(Kind::kCycler)) {
    INGOT_TRY(const Value found, cycler_attribute(owner.cycler(), name));
    if (!found.is_absent()) return found;
  }
  if (owner.is(Kind::kTuple) && owner.sequence().is_group) {
    if (name == "grouper") return owner.items()[0];
    if (name == "list") return owner.items()[1];
  }
  if (const Builtin* method = find_method(owner, name)) return heap.method(owner, *method);
  if (is_unsafe_attribute(owner, name)) {
    return heap.undefined_because(
        "access to an attribute that is unsafe: templates change no lists or dicts");
  }
  return Value();
}

Result<Value> get_attribute(Heap& heap, Value owner, std::string_view name) {
  INGOT_TRY(check_defined(heap, owner));
  INGOT_TRY(const Value attribute, own_attribute(heap, owner, name));
  if (!attribute.is_absent()) return attribute;
  if (owner.is_dict()) {
    INGOT_TRY(const Value item, find_key(heap, owner.dict(), name));
    if (!item.is_absent()) return item;
  }
  return heap.undefined(name, owner);
}

Result<Value> get_item(Heap& heap, Value owner, Value key) {
  INGOT_TRY(check_defined(heap, owner));
  INGOT_TRY(const Value item, own_item(heap, owner, key));
  if (!item.is_absent()) return item;
  if (!key.is_string()) return heap.undefined_element(key, owner);
  INGOT_TRY(const Value attribute, own_attribute(heap, owner, key.text()));
  if (!attribute.is_absent()) return attribute;
  return heap.undefined(key.text(), owner);
}

Result<SliceBounds> slice_bounds(Heap& heap, int64_t length, Value from, Value to, Value step) {
  SliceBounds bounds{.from = 0, .to = length, .step = 1, .count = 0};
  if (!step.is_none()) {
    INGOT_TRY(bounds.step, expect_integer(heap, step));
    if (bounds.step == 0) return Status::invalid_data("slice step cannot be zero");
    bounds.step = std::max(bounds.step, -INT64_MAX);
  }
  const bool is_forward = bounds.step > 0;
  const int64_t lowest = is_forward ? 0 : -1;
  const int64_t highest = is_forward ? length : length - 1;
  const auto clamp = [&](int64_t index) {
    if (index < 0) index += length;
    return std::clamp(index, lowest, std::max(lowest, highest));
  };
  bounds.from = is_forward ? lowest : highest;
  bounds.to = is_forward ? highest : lowest;
  if (!from.is_none()) {
    INGOT_TRY(const int64_t index, expect_integer(heap, from));
    bounds.from = clamp(index);
  }
  if (!to.is_none()) {
    INGOT_TRY(const int64_t index, expect_integer(heap, to));
    bounds.to = clamp(index);
  }
  const int64_t distance = is_forward ? bounds.to - bounds.from : bounds.from - bounds.to;
  const int64_t stride = is_forward ? bounds.step : -bounds.step;
  bounds.count = distance <= 0 ? 0 : (distance - 1) / stride + 1;
  return bounds;
}

Result<Value> get_slice(Heap& heap, Value owner, Value from, Value to, Value step) {
  INGOT_TRY(check_defined(heap, owner));
  if (!owner.is_string() && !owner.is_indexable()) {
    return Status::invalid_data("'{}' object is not subscriptable", type_name(owner));
  }
  INGOT_TRY(const int64_t length, jinja::length(heap, owner));
  INGOT_TRY(const SliceBounds bounds, slice_bounds(heap, length, from, to, step));
  if (owner.is_string()) {
    StringObject& string = owner.string();
    if (bounds.step == 1) {  // a view of the same bytes
      const size_t begin = byte_offset(string, static_cast<size_t>(bounds.from));
      const size_t end = byte_offset(string, static_cast<size_t>(bounds.from + bounds.count));
      return heap.view(string.bytes.substr(begin, end - begin), string.is_markup);
    }
    INGOT_TRY(heap.budget().step(static_cast<uint64_t>(bounds.count) / 8));
    INGOT_TRY(heap.budget().scan(string.bytes.size()));
    TextBuilder out(heap);
    for (int64_t i = 0; i < bounds.count && !out.has_failed(); ++i) {
      const size_t at = byte_offset(string, static_cast<size_t>(bounds.from + i * bounds.step));
      out.append(first_character(string.bytes.substr(at)));
    }
    return out.finish(string.is_markup);
  }
  return slice_of_sequence(heap, owner, bounds);
}

Result<Value> namespace_attribute(Heap& heap, const NamespaceObject& names, std::string_view name) {
  INGOT_TRY(heap.budget().step(names.size / 16));
  for (size_t i = 0; i < names.size; ++i) {
    if (names.entries[i].key.text() == name) return names.entries[i].value;
  }
  return Value();
}

Status set_namespace_attribute(Heap& heap, NamespaceObject& names, std::string_view name,
                               Value value) {
  INGOT_TRY(heap.budget().step(names.size / 16));
  for (size_t i = 0; i < names.size; ++i) {
    if (names.entries[i].key.text() != name) continue;
    names.entries[i].value = value;
    return Status::ok();
  }
  if (names.size == names.capacity) {
    const size_t capacity = std::max<size_t>(8, 2 * names.capacity);
    INGOT_TRY(const std::span<DictEntry> larger, heap.array<DictEntry>(capacity));
    std::copy_n(names.entries, names.size, larger.begin());
    names.entries = larger.data();
    names.capacity = capacity;
  }
  INGOT_TRY(const Value key, heap.view(name));
  names.entries[names.size++] = {key, value};
  return Status::ok();
}

Result<Value> get_path(Heap& heap, Value owner, Value path, Value standard) {
  if (path.is_none() || path.is_absent()) return owner;
  if (!path.is_string()) return get_item(heap, owner, path);
  std::string_view rest = path.text();
  Value value = owner;
  while (true) {
    INGOT_TRY(heap.budget().step());
    const size_t dot = std::min(rest.find('.'), rest.size());
    const std::string_view part = rest.substr(0, dot);
    int64_t index = 0;
    const auto read = std::from_chars(part.data(), part.data() + part.size(), index);
    const bool is_number = !part.empty() && part[0] != '-' && read.ec == std::errc() &&
                           read.ptr == part.data() + part.size();
    Value key = Value::integer(index);
    if (!is_number) {
      INGOT_TRY(key, heap.view(part));
    }
    INGOT_TRY(value, get_item(heap, value, key));
    const bool has_standard = !standard.is_absent() && !standard.is_none();
    if (value.is_undefined() && has_standard) value = standard;
    if (dot == rest.size()) return value;
    rest.remove_prefix(dot + 1);
  }
}

}  // namespace ingot::jinja
