// SPDX-License-Identifier: Apache-2.0
// Methods of dicts, sequences and loops. What would change a dict or a list is not here: the
// sandbox denies it (builtins.cc).
#include <algorithm>

#include "tokenizer/jinja/access.h"
#include "tokenizer/jinja/builtins.h"
#include "tokenizer/jinja/compare.h"
#include "tokenizer/jinja/dict.h"
#include "tokenizer/jinja/errors.h"
#include "tokenizer/jinja/interpreter.h"
#include "tokenizer/jinja/iterate.h"

namespace ingot::jinja {
namespace {

template <Kind kKind>
Result<Value> view_of(Interpreter& in, Value self, const Arguments&) {
  return dict_view(in.heap(), self.dict(), kKind);
}

Result<Value> get(Interpreter& in, Value self, const Arguments& args) {
  INGOT_TRY(check_hashable(args[0]));
  INGOT_TRY(const Value found, find_key(in.heap(), self.dict(), args[0]));
  if (!found.is_absent()) return found;
  return args.has(1) ? args[1] : Value::none();
}

// Nothing changes, so a copy may be the thing itself.
Result<Value> copy(Interpreter&, Value self, const Arguments&) {
  return self;
}

Result<Value> index(Interpreter& in, Value self, const Arguments& args) {
  Heap& heap = in.heap();
  const auto length = static_cast<int64_t>(self.items().size());
  const Value from = args.has(1) ? args[1] : Value::none();
  const Value to = args.has(2) ? args[2] : Value::none();
  INGOT_TRY(const SliceBounds bounds, slice_bounds(heap, length, from, to, Value::none()));
  for (int64_t i = bounds.from; i < bounds.from + bounds.count; ++i) {
    INGOT_TRY(const bool is_equal, equal(heap, self.items()[static_cast<size_t>(i)], args[0]));
    if (is_equal) return Value::integer(i);
  }
  return Status::invalid_data("the value is not in the {}", type_name(self));
}

Result<Value> count(Interpreter& in, Value self, const Arguments& args) {
  int64_t times = 0;
  for (const Value item : self.items()) {
    INGOT_TRY(const bool is_equal, equal(in.heap(), item, args[0]));
    if (is_equal) ++times;
  }
  return Value::integer(times);
}

Result<Value> cycle(Interpreter&, Value self, const Arguments& args) {
  const std::span<const Value> items = args.given.positional;
  if (items.empty()) return Status::invalid_data("no items for cycling given");
  return items[self.loop().index % items.size()];
}

// Whether the arguments differ from those of the call before.
Result<Value> changed(Interpreter& in, Value self, const Arguments& args) {
  LoopObject& loop = self.loop();
  INGOT_TRY(const Value now, in.heap().sequence(Kind::kTuple, args.given.positional));
  if (!loop.last_changed.is_absent()) {
    INGOT_TRY(const bool is_equal, equal(in.heap(), loop.last_changed, now));
    if (is_equal) return Value::boolean(false);
  }
  loop.last_changed = now;
  return Value::boolean(true);
}

constexpr Builtin kDictMethods[] = {
    {"copy", "", copy},
    {"get", "key default?", get},
    {"items", "", view_of<Kind::kItems>},
    {"keys", "", view_of<Kind::kKeys>},
    {"values", "", view_of<Kind::kValues>},
};

constexpr Builtin kSequenceMethods[] = {
    {"copy", "", copy},
    {"count", "value", count},
    {"index", "value start? stop?", index},
};

constexpr Builtin kLoopMethods[] = {
    {"changed", "*", changed},
    {"cycle", "*", cycle},
};

}  // namespace

std::span<const Builtin> dict_methods() {
  return kDictMethods;
}
std::span<const Builtin> sequence_methods() {
  return kSequenceMethods;
}
std::span<const Builtin> loop_methods() {
  return kLoopMethods;
}

}  // namespace ingot::jinja
