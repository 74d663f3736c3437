// SPDX-License-Identifier: Apache-2.0
// Filters that take a sequence as a whole: its ends, its parts, its order, its sums.
#include <algorithm>

#include "tokenizer/jinja/access.h"
#include "tokenizer/jinja/builtins.h"
#include "tokenizer/jinja/compare.h"
#include "tokenizer/jinja/dict.h"
#include "tokenizer/jinja/errors.h"
#include "tokenizer/jinja/interpreter.h"
#include "tokenizer/jinja/iterate.h"
#include "tokenizer/jinja/operators.h"
#include "tokenizer/jinja/python_text.h"
#include "tokenizer/jinja/text_tools.h"
#include "tokenizer/jinja/unicode_text.h"

namespace ingot::jinja {
namespace {

Result<Value> length_filter(Interpreter& in, Value self, const Arguments&) {
  INGOT_TRY(const int64_t count, length(in.heap(), self));
  return Value::integer(count);
}

Result<Value> first(Interpreter& in, Value self, const Arguments&) {
  Heap& heap = in.heap();
  if (self.is_string() && !self.text().empty()) return heap.character(first_character(self.text()));
  if (self.is(Kind::kGenerator) && self.sequence().taken < self.items().size()) {
    return self.items()[self.sequence().taken++];
  }
  if (self.is_dict() && !self.dict().entries.empty()) return self.dict().entries[0].key;
  INGOT_TRY(const std::span<const Value> items, iterate(heap, self));
  if (!items.empty()) return items[0];
  return heap.undefined_because("No first item, sequence was empty.");
}

Result<Value> last(Interpreter& in, Value self, const Arguments&) {
  Heap& heap = in.heap();
  if (self.is(Kind::kGenerator))
    return Status::invalid_data("'generator' object is not reversible");
  if (self.is_string() && !self.text().empty()) return heap.character(last_character(self.text()));
  if (self.is_dict() && !self.dict().entries.empty()) return self.dict().entries.back().key;
  INGOT_TRY(const std::span<const Value> items, iterate(heap, self));
  if (!items.empty()) return items.back();
  return heap.undefined_because("No last item, sequence was empty.");
}

Result<Value> to_list(Interpreter& in, Value self, const Arguments&) {
  INGOT_TRY(const std::span<const Value> items, iterate(in.heap(), self));
  return in.heap().sequence(Kind::kList, items);
}

Result<Value> reverse(Interpreter& in, Value self, const Arguments&) {
  Heap& heap = in.heap();
  if (self.is_string())
    return get_slice(heap, self, Value::none(), Value::none(), Value::integer(-1));
  const Kind kind = self.is(Kind::kGenerator) ? Kind::kList : Kind::kGenerator;
  INGOT_TRY(const std::span<const Value> items, iterate(heap, self));
  INGOT_TRY(const Value result, heap.sequence(kind, items));
  std::ranges::reverse(result.items());
  return result;
}

Result<Value> items_of(Interpreter& in, Value self, const Arguments&) {
  Heap& heap = in.heap();
  if (self.is_undefined()) return heap.sequence(Kind::kGenerator, {});
  if (!self.is_dict()) return Status::invalid_data("Can only get item pairs from a mapping.");
  INGOT_TRY(const Value view, dict_view(heap, self.dict(), Kind::kItems));
  return heap.own_sequence(Kind::kGenerator, view.items());
}

Result<Value> join(Interpreter& in, Value self, const Arguments& args) {
  Heap& heap = in.heap();
  std::string_view separator;
  if (args.has(0)) {
    INGOT_TRY(const Value text, plain_string(heap, args[0]));
    separator = text.text();
  }
  INGOT_TRY(const std::span<const Value> items, iterate(heap, self));
  TextBuilder out(heap);
  for (size_t i = 0; i < items.size() && !out.has_failed(); ++i) {
    if (i > 0) out.append(separator);
    INGOT_TRY(heap.budget().step());
    INGOT_TRY(const Value item, get_path(heap, items[i], args[1]));
    write_str(out, item);
  }
  return out.finish();
}

Result<Value> sum(Interpreter& in, Value self, const Arguments& args) {
  Heap& heap = in.heap();
  Value total = args.has(1) ? args[1] : Value::integer(0);
  if (total.is_string())
    return Status::invalid_data("sum() can't sum strings [use ''.join(seq) instead]");
  INGOT_TRY(const std::span<const Value> items, iterate(heap, self));
  for (const Value item : items) {
    INGOT_TRY(heap.budget().step());
    INGOT_TRY(const Value part, get_path(heap, item, args[0]));
    INGOT_TRY(total, binary(heap, BinaryOperator::kAdd, total, part));
  }
  return total;
}

Result<Value> batch(Interpreter& in, Value self, const Arguments& args) {
  Heap& heap = in.heap();
  INGOT_TRY(const int64_t count, expect_integer(heap, args[0]));
  INGOT_TRY(const std::span<const Value> items, iterate(heap, self));
  ListBuilder rows(heap);
  std::vector<Value> row;
  for (const Value item : items) {
    INGOT_TRY(heap.budget().step());
    if (static_cast<int64_t>(row.size()) == count) {
      rows.push(heap.sequence(Kind::kList, row));
      row.clear();
    }
    row.push_back(item);
  }
  if (!row.empty()) {
    ListBuilder filled(heap);
    for (const Value item : row)
      filled.push(item);
    const bool is_filling = args.has(1) && !args[1].is_none();
    for (int64_t i = filled.has_failed() ? count : static_cast<int64_t>(row.size());
         is_filling && i < count; ++i) {
      filled.push(args[1]);
      if (filled.has_failed()) break;
    }
    rows.push(filled.finish(Kind::kList));
  }
  return rows.finish(Kind::kGenerator);
}

Result<Value> slice(Interpreter& in, Value self, const Arguments& args) {
  Heap& heap = in.heap();
  INGOT_TRY(const int64_t slices, expect_integer(heap, args[0]));
  if (slices == 0) return Status::invalid_data("integer division or modulo by zero");
  INGOT_TRY(const std::span<const Value> items, iterate(heap, self));
  const auto count = static_cast<int64_t>(items.size());
  const int64_t each = slices < 0 ? 0 : count / slices;
  const int64_t with_extra = slices < 0 ? 0 : count % slices;
  ListBuilder columns(heap);
  size_t at = 0;
  for (int64_t i = 0; i < slices && !columns.has_failed(); ++i) {
    INGOT_TRY(heap.budget().step());
    const auto size = static_cast<size_t>(each + (i < with_extra ? 1 : 0));
    std::vector<Value> column(items.begin() + static_cast<ptrdiff_t>(at),
                              items.begin() + static_cast<ptrdiff_t>(at + size));
    at += size;
    if (args.has(1) && !args[1].is_none() && i >= with_extra) column.push_back(args[1]);
    columns.push(heap.sequence(Kind::kList, column));
  }
  return columns.finish(Kind::kGenerator);
}

// The values to compare by: the attributes named in `path`, several with commas between them.
Result<Value> sort_key(Heap& heap, Value item, Value path, bool is_case_sensitive) {
  std::vector<Value> parts;
  if (!path.is_string()) {
    INGOT_TRY(const Value part, get_path(heap, item, path));
    parts.push_back(part);
  } else {
    for (std::string_view rest = path.text();;) {
      const size_t comma = std::min(rest.find(','), rest.size());
      INGOT_TRY(const Value one, heap.view(rest.substr(0, comma)));
      INGOT_TRY(const Value part, get_path(heap, item, one));
      parts.push_back(part);
      if (comma == rest.size()) break;
      rest.remove_prefix(comma + 1);
    }
  }
  for (Value& part : parts) {
    if (is_case_sensitive) continue;
    INGOT_TRY(part, without_case(heap, part));
  }
  return heap.sequence(Kind::kList, parts);
}

// sorted(items, key, reverse): stable, also in reverse.
Result<Value> sorted_by(Heap& heap, std::span<const Value> items, std::span<const Value> keys,
                        bool is_reverse) {
  INGOT_TRY(const std::vector<uint32_t> order,
            sorted_positions(items.size(), [&](uint32_t a, uint32_t b) {
              return is_reverse ? is_less(heap, keys[b], keys[a]) : is_less(heap, keys[a], keys[b]);
            }));
  INGOT_TRY(const std::span<Value> sorted, heap.array<Value>(items.size()));
  for (size_t i = 0; i < order.size(); ++i)
    sorted[i] = items[order[i]];
  return heap.own_sequence(Kind::kList, sorted);
}

Result<Value> sort(Interpreter& in, Value self, const Arguments& args) {
  Heap& heap = in.heap();
  INGOT_TRY(const std::span<const Value> items, iterate(heap, self));
  INGOT_TRY(const std::span<Value> keys, heap.array<Value>(items.size()));
  for (size_t i = 0; i < items.size(); ++i) {
    INGOT_TRY(keys[i], sort_key(heap, items[i], args[2], is_true(args[1])));
  }
  return sorted_by(heap, items, keys, is_true(args[0]));
}

Result<Value> dictsort(Interpreter& in, Value self, const Arguments& args) {
  Heap& heap = in.heap();
  if (!self.is_dict())
    return Status::invalid_data("dictsort takes a mapping, not {}", type_name(self));
  std::string_view by = "key";
  if (args.has(1)) {
    INGOT_TRY(by, expect_text(heap, args[1]));
  }
  if (by != "key" && by != "value")
    return Status::invalid_data("You can only sort by either \"key\" or \"value\"");
  INGOT_TRY(const Value pairs, dict_view(heap, self.dict(), Kind::kItems));
  INGOT_TRY(const std::span<Value> keys, heap.array<Value>(pairs.items().size()));
  for (size_t i = 0; i < keys.size(); ++i) {
    keys[i] = pairs.items()[i].items()[by == "key" ? 0 : 1];
    if (is_true(args[0])) continue;
    INGOT_TRY(keys[i], without_case(heap, keys[i]));
  }
  return sorted_by(heap, pairs.items(), keys, is_true(args[2]));
}

// A key for one attribute: case ignored unless asked for.
Result<Value> attribute_key(Heap& heap, Value item, Value path, bool is_case_sensitive,
                            Value standard = {}) {
  INGOT_TRY(heap.budget().step());
  INGOT_TRY(const Value key, get_path(heap, item, path, standard));
  return is_case_sensitive ? key : without_case(heap, key);
}

Result<Value> unique(Interpreter& in, Value self, const Arguments& args) {
  Heap& heap = in.heap();
  INGOT_TRY(const std::span<const Value> items, iterate(heap, self));
  INGOT_TRY(const std::span<Value> keys, heap.array<Value>(items.size()));
  for (size_t i = 0; i < items.size(); ++i) {
    INGOT_TRY(keys[i], attribute_key(heap, items[i], args[1], is_true(args[0])));
    INGOT_TRY(check_hashable(keys[i]));
  }
  INGOT_TRY(const std::vector<uint32_t> first_of, first_positions(heap, keys));
  ListBuilder kept(heap);
  for (size_t i = 0; i < items.size(); ++i) {
    if (first_of[i] == i) kept.push(items[i]);
  }
  return kept.finish(Kind::kGenerator);
}

template <bool kWantsLargest>
Result<Value> extreme(Interpreter& in, Value self, const Arguments& args) {
  Heap& heap = in.heap();
  INGOT_TRY(const std::span<const Value> items, iterate(heap, self));
  if (items.empty()) return heap.undefined_because("No aggregated item, sequence was empty.");
  Value best = items[0];
  INGOT_TRY(Value best_key, attribute_key(heap, best, args[1], is_true(args[0])));
  for (const Value item : items.subspan(1)) {
    INGOT_TRY(const Value key, attribute_key(heap, item, args[1], is_true(args[0])));
    INGOT_TRY(const bool is_better,
              kWantsLargest ? is_less(heap, best_key, key) : is_less(heap, key, best_key));
    if (!is_better) continue;
    best = item;
    best_key = key;
  }
  return best;
}

Result<Value> make_group(Heap& heap, Value key, std::span<const Value> members) {
  INGOT_TRY(const Value list, heap.sequence(Kind::kList, members));
  INGOT_TRY(const Value pair, heap.pair(key, list));
  pair.sequence().is_group = true;
  return pair;
}

Result<Value> groupby(Interpreter& in, Value self, const Arguments& args) {
  Heap& heap = in.heap();
  const bool is_case_sensitive = is_true(args[2]);
  INGOT_TRY(const std::span<const Value> items, iterate(heap, self));
  INGOT_TRY(const std::span<Value> keys, heap.array<Value>(items.size()));
  for (size_t i = 0; i < items.size(); ++i) {
    INGOT_TRY(keys[i], attribute_key(heap, items[i], args[0], is_case_sensitive, args[1]));
  }
  INGOT_TRY(const std::vector<uint32_t> order,
            sorted_positions(items.size(), [&](uint32_t a, uint32_t b) {
              return is_less(heap, keys[a], keys[b]);
            }));
  ListBuilder groups(heap);
  std::vector<Value> members;
  for (size_t i = 0; i < order.size(); ++i) {
    members.push_back(items[order[i]]);
    bool is_end = i + 1 == order.size();
    if (!is_end) {
      INGOT_TRY(const bool is_same, equal(heap, keys[order[i]], keys[order[i + 1]]));
      is_end = !is_same;
    }
    if (!is_end) continue;
    // The group is named as its first member spells it.
    INGOT_TRY(const Value key, attribute_key(heap, members[0], args[0], true, args[1]));
    groups.push(make_group(heap, key, members));
    members.clear();
  }
  return groups.finish(Kind::kList);
}

Result<Value> standard_value(Interpreter& in, Value self, const Arguments& args) {
  const bool is_missing = self.is_undefined() || (is_true(args[1]) && !is_true(self));
  if (!is_missing) return self;
  return args.has(0) ? Result<Value>(args[0]) : in.heap().view("");
}

Result<Value> attr(Interpreter& in, Value self, const Arguments& args) {
  Heap& heap = in.heap();
  INGOT_TRY(check_defined(heap, self));
  INGOT_TRY(const std::string_view name, expect_text(heap, args[0]));
  INGOT_TRY(const Value found, own_attribute(heap, self, name));
  return found.is_absent() ? heap.undefined(name, self) : found;
}

constexpr Builtin kSequenceFilters[] = {
    {"attr", "name", attr},
    {"batch", "linecount fill_with?", batch},
    {"count", "", length_filter},
    {"d", "default_value? boolean?", standard_value},
    {"default", "default_value? boolean?", standard_value},
    {"dictsort", "case_sensitive? by? reverse?", dictsort},
    {"first", "", first},
    {"groupby", "attribute default? case_sensitive?", groupby},
    {"items", "", items_of},
    {"join", "d? attribute?", join},
    {"last", "", last},
    {"length", "", length_filter},
    {"list", "", to_list},
    {"max", "case_sensitive? attribute?", extreme<true>},
    {"min", "case_sensitive? attribute?", extreme<false>},
    {"reverse", "", reverse},
    {"slice", "slices fill_with?", slice},
    {"sort", "reverse? case_sensitive? attribute?", sort},
    {"sum", "attribute? start?", sum},
    {"unique", "case_sensitive? attribute?", unique},
};

}  // namespace

std::span<const Builtin> sequence_filters() {
  return kSequenceFilters;
}

}  // namespace ingot::jinja
