// SPDX-License-Identifier: Apache-2.0
// The functions of a template: Jinja's globals, and the two that chat templates are given.
#include <ctime>

#include "base/limits.h"
#include "tokenizer/jinja/access.h"
#include "tokenizer/jinja/builtins.h"
#include "tokenizer/jinja/dict.h"
#include "tokenizer/jinja/errors.h"
#include "tokenizer/jinja/interpreter.h"
#include "tokenizer/jinja/iterate.h"
#include "tokenizer/jinja/python_text.h"
#include "tokenizer/jinja/strftime.h"

namespace ingot::jinja {
namespace {

Result<Value> make_range(Interpreter& in, Value, const Arguments& args) {
  Heap& heap = in.heap();
  int64_t start = 0;
  int64_t step = 1;
  INGOT_TRY(int64_t stop, expect_integer(heap, args[0]));
  if (args.has(1)) {
    start = stop;
    INGOT_TRY(stop, expect_integer(heap, args[1]));
  }
  if (args.has(2)) {
    INGOT_TRY(step, expect_integer(heap, args[2]));
    if (step == 0) return Status::invalid_data("range() arg 3 must not be zero");
  }
  // In unsigned arithmetic, where the distance of any two integers fits.
  const bool is_empty = step > 0 ? start >= stop : start <= stop;
  const uint64_t distance = step > 0 ? static_cast<uint64_t>(stop) - static_cast<uint64_t>(start)
                                     : static_cast<uint64_t>(start) - static_cast<uint64_t>(stop);
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
  const uint64_t count = is_empty ? 0 : (distance - 1) / stride + 1;
  if (count > limits::kTemplateRange) {
    return Status::resource_exhausted("range() is too large: {} items, at most {}", count,
                                      limits::kTemplateRange);
  }
  INGOT_TRY(heap.budget().copy(count * sizeof(Value)));
  INGOT_TRY(const std::span<Value> items, heap.array<Value>(count));
  for (uint64_t i = 0; i < count; ++i) {
    items[i] = Value::integer(
        static_cast<int64_t>(static_cast<uint64_t>(start) + i * static_cast<uint64_t>(step)));
  }
  INGOT_TRY(const Value range, heap.own_sequence(Kind::kRange, items));
  SequenceObject& object = range.sequence();
  object.range[0] = start;
  object.range[1] = stop;
  object.range[2] = step;
  return range;
}

// dict(mapping or pairs, key=value ...).
Result<Value> make_dict_value(Interpreter& in, Value, const Arguments& args) {
  Heap& heap = in.heap();
  DictBuilder builder(heap);
  if (args.given.positional.size() > 1)
    return Status::invalid_data("dict expected at most 1 argument");
  if (args.given.positional.size() == 1) {
    const Value from = args.given.positional[0];
    INGOT_TRY(check_defined(heap, from));
    if (from.is_dict()) {
      for (const DictEntry& entry : from.dict().entries)
        INGOT_TRY(builder.add(entry.key, entry.value));
    } else {
      INGOT_TRY(const std::span<const Value> pairs, iterate(heap, from));
      for (const Value pair : pairs) {
        INGOT_TRY(const std::span<const Value> both, iterate(heap, pair));
        if (both.size() != 2)
          return Status::invalid_data("dict() takes pairs; one has {} items", both.size());
        INGOT_TRY(builder.add(both[0], both[1]));
      }
    }
  }
  for (const Keyword& keyword : args.given.keywords) {
    INGOT_TRY(const Value key, heap.view(keyword.name));
    INGOT_TRY(builder.add(key, keyword.value));
  }
  return builder.finish();
}

Result<Value> make_namespace(Interpreter& in, Value self, const Arguments& args) {
  Heap& heap = in.heap();
  INGOT_TRY(const Value dict, make_dict_value(in, self, args));
  INGOT_TRY(NamespaceObject * names, heap.create(NamespaceObject{}));
  const std::span<const DictEntry> entries = dict.dict().entries;
  INGOT_TRY(const std::span<DictEntry> copy, heap.array<DictEntry>(entries.size()));
  for (size_t i = 0; i < entries.size(); ++i) {
    INGOT_TRY(expect_text(heap, entries[i].key));
    copy[i] = entries[i];
  }
  names->entries = copy.data();
  names->size = copy.size();
  names->capacity = copy.size();
  return Value::object(Kind::kNamespace, names);
}

Result<Value> make_cycler(Interpreter& in, Value, const Arguments& args) {
  if (args.given.positional.empty() || !args.given.keywords.empty()) {
    return Status::invalid_data("cycler() needs at least one item");
  }
  INGOT_TRY(const Value items, in.heap().sequence(Kind::kTuple, args.given.positional));
  INGOT_TRY(CyclerObject * cycler, in.heap().create(CyclerObject{.items = items.items()}));
  return Value::object(Kind::kCycler, cycler);
}

Result<Value> make_joiner(Interpreter& in, Value, const Arguments& args) {
  Value separator = args[0];
  if (!args.has(0)) {
    INGOT_TRY(separator, in.heap().view(", "));
  }
  INGOT_TRY(JoinerObject * joiner, in.heap().create(JoinerObject{.separator = separator}));
  return Value::object(Kind::kJoiner, joiner);
}

Result<Value> next_of_cycler(Interpreter&, Value self, const Arguments&) {
  CyclerObject& cycler = self.cycler();
  const Value current = cycler.items[cycler.position];
  cycler.position = (cycler.position + 1) % cycler.items.size();
  return current;
}

Result<Value> reset_cycler(Interpreter&, Value self, const Arguments&) {
  self.cycler().position = 0;
  return Value::none();
}

Result<Value> raise_exception(Interpreter& in, Value, const Arguments& args) {
  INGOT_TRY(const Value message, plain_string(in.heap(), args[0]));
  return Status(StatusCode::kRefused, std::string(message.text()));
}

Result<Value> strftime_now(Interpreter& in, Value, const Arguments& args) {
  INGOT_TRY(const std::string_view format, expect_text(in.heap(), args[0]));
  TextBuilder out(in.heap());
  write_time(out, in.now() ? *in.now() : local_now(), format);
  return out.finish();
}

Result<Value> refuse_lipsum(Interpreter&, Value, const Arguments&) {
  return Status::invalid_data("lipsum() is not supported in chat templates");
}

constexpr Builtin kFunctions[] = {
    {"cycler", "*", make_cycler},
    {"dict", "*", make_dict_value},
    {"joiner", "sep?", make_joiner},
    {"lipsum", "*", refuse_lipsum},
    {"namespace", "*", make_namespace},
    {"raise_exception", "message", raise_exception},
    {"range", "start stop? step?", make_range},
    {"strftime_now", "format", strftime_now},
};

constexpr Builtin kCyclerMethods[] = {
    {"next", "", next_of_cycler},
    {"reset", "", reset_cycler},
};

}  // namespace

std::span<const Builtin> functions() {
  return kFunctions;
}
std::span<const Builtin> cycler_methods() {
  return kCyclerMethods;
}

}  // namespace ingot::jinja
