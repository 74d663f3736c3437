// SPDX-License-Identifier: Apache-2.0
// Filters that apply another filter, a test or an attribute to each item.
#include <algorithm>

#include "tokenizer/jinja/access.h"
#include "tokenizer/jinja/builtins.h"
#include "tokenizer/jinja/errors.h"
#include "tokenizer/jinja/interpreter.h"
#include "tokenizer/jinja/iterate.h"

namespace ingot::jinja {
namespace {

Result<Value> map_attribute(Interpreter& in, Value self, const Arguments& args) {
  Heap& heap = in.heap();
  Value path;
  Value standard;
  for (const Keyword& keyword : args.given.keywords) {
    if (keyword.name == "attribute") {
      path = keyword.value;
    } else if (keyword.name == "default") {
      standard = keyword.value;
    } else {
      return Status::invalid_data("Unexpected keyword argument '{}'", keyword.name.substr(0, 100));
    }
  }
  INGOT_TRY(const std::span<const Value> items, iterate(heap, self));
  ListBuilder mapped(heap);
  for (const Value item : items) {
    INGOT_TRY(heap.budget().step());
    mapped.push(get_path(heap, item, path, standard));
    if (mapped.has_failed()) break;
  }
  return mapped.finish(Kind::kGenerator);
}

Result<Value> map(Interpreter& in, Value self, const Arguments& args) {
  Heap& heap = in.heap();
  if (!is_true(self)) return heap.sequence(Kind::kGenerator, {});
  const std::span<const Value> given = args.given.positional;
  const bool has_attribute = std::ranges::find(args.given.keywords, "attribute", &Keyword::name) !=
                             args.given.keywords.end();
  if (given.empty() && has_attribute) return map_attribute(in, self, args);
  if (given.empty()) return Status::invalid_data("map requires a filter argument");
  INGOT_TRY(const std::string_view filter, expect_text(heap, given[0]));
  INGOT_TRY(const std::span<const Value> items, iterate(heap, self));
  const CallArgs rest{given.subspan(1), args.given.keywords};
  ListBuilder mapped(heap);
  for (const Value item : items) {
    INGOT_TRY(heap.budget().step());
    mapped.push(in.call_filter(filter, item, rest));
    if (mapped.has_failed()) break;
  }
  return mapped.finish(Kind::kGenerator);
}

template <bool kIsKept, bool kByAttribute>
Result<Value> choose(Interpreter& in, Value self, const Arguments& args) {
  Heap& heap = in.heap();
  if (!is_true(self)) return heap.sequence(Kind::kGenerator, {});
  std::span<const Value> given = args.given.positional;
  Value path;
  if (kByAttribute) {
    if (given.empty()) return Status::invalid_data("Missing parameter for attribute name");
    path = given[0];
    given = given.subspan(1);
  }
  std::string_view test;
  if (!given.empty()) {
    INGOT_TRY(test, expect_text(heap, given[0]));
    given = given.subspan(1);
  }
  const CallArgs rest{given, args.given.keywords};
  INGOT_TRY(const std::span<const Value> items, iterate(heap, self));
  ListBuilder kept(heap);
  for (const Value item : items) {
    INGOT_TRY(heap.budget().step());
    INGOT_TRY(const Value subject, get_path(heap, item, path));
    bool holds = is_true(subject);
    if (!test.empty()) {
      INGOT_TRY(holds, in.call_test(test, subject, rest));
    }
    if (holds == kIsKept) kept.push(item);
    if (kept.has_failed()) break;
  }
  return kept.finish(Kind::kGenerator);
}

constexpr Builtin kSelectionFilters[] = {
    {"map", "*", map},
    {"reject", "*", choose<false, false>},
    {"rejectattr", "*", choose<false, true>},
    {"select", "*", choose<true, false>},
    {"selectattr", "*", choose<true, true>},
};

}  // namespace

std::span<const Builtin> selection_filters() {
  return kSelectionFilters;
}

}  // namespace ingot::jinja
