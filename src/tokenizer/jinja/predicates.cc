// SPDX-License-Identifier: Apache-2.0
// Jinja's tests: `x is defined`, `n is divisibleby 3`, and the same by name in select and reject.
#include <cmath>

#include "tokenizer/jinja/ast.h"
#include "tokenizer/jinja/builtins.h"
#include "tokenizer/jinja/compare.h"
#include "tokenizer/jinja/errors.h"
#include "tokenizer/jinja/interpreter.h"
#include "tokenizer/jinja/iterate.h"
#include "tokenizer/jinja/operators.h"
#include "tokenizer/jinja/python_text.h"
#include "tokenizer/jinja/string_classes.h"

namespace ingot::jinja {
namespace {

template <bool (*kHolds)(Value)>
Result<Value> simple(Interpreter&, Value self, const Arguments&) {
  return Value::boolean(kHolds(self));
}

bool is_defined(Value value) {
  return !value.is_undefined();
}
bool is_not_defined(Value value) {
  return value.is_undefined();
}
bool is_none(Value value) {
  return value.is_none();
}
bool is_boolean(Value value) {
  return value.is(Kind::kBool);
}
bool is_exactly_true(Value value) {
  return value.is(Kind::kBool) && value.as_integer() != 0;
}
bool is_exactly_false(Value value) {
  return value.is(Kind::kBool) && value.as_integer() == 0;
}
bool is_integer(Value value) {
  return value.is(Kind::kInt);
}
bool is_float(Value value) {
  return value.is(Kind::kFloat);
}
bool is_any_number(Value value) {
  return value.is_number();
}
bool is_text(Value value) {
  return value.is_string();
}
bool is_mapping(Value value) {
  return value.is_dict();
}
// Python asks for a length and for subscripts. An undefined value has the one and fails at the
// other, though not in a way the test notices.
bool is_any_sequence(Value value) {
  return value.is_string() || value.is_indexable() || value.is_dict() || value.is_undefined();
}
bool can_iterate(Value value) {
  return is_iterable(value);
}
// Undefined values are objects of a class with __call__.
bool is_callable(Value value) {
  switch (value.kind()) {
    case Kind::kMacro:
    case Kind::kMethod:
    case Kind::kFunction:
    case Kind::kJoiner:
    case Kind::kLoop:
    case Kind::kUndefined:
      return true;
    default:
      return false;
  }
}
bool is_escaped(Value value) {
  return value.is_markup();
}

Result<Value> remainder_is(Heap& heap, Value value, int64_t divisor, int64_t expected) {
  INGOT_TRY(const Value rest,
            binary(heap, BinaryOperator::kModulo, value, Value::integer(divisor)));
  INGOT_TRY(const bool is_so, equal(heap, rest, Value::integer(expected)));
  return Value::boolean(is_so);
}

Result<Value> is_odd(Interpreter& in, Value self, const Arguments&) {
  return remainder_is(in.heap(), self, 2, 1);
}

Result<Value> is_even(Interpreter& in, Value self, const Arguments&) {
  return remainder_is(in.heap(), self, 2, 0);
}

Result<Value> is_divisible(Interpreter& in, Value self, const Arguments& args) {
  INGOT_TRY(const Value rest, binary(in.heap(), BinaryOperator::kModulo, self, args[0]));
  INGOT_TRY(const bool is_so, equal(in.heap(), rest, Value::integer(0)));
  return Value::boolean(is_so);
}

template <bool kWantsUpper>
Result<Value> has_case(Interpreter& in, Value self, const Arguments&) {
  INGOT_TRY(const Value text, plain_string(in.heap(), self));
  INGOT_TRY(in.heap().budget().scan(text.text().size()));
  return Value::boolean(kWantsUpper ? is_upper_text(text.text()) : is_lower_text(text.text()));
}

Result<Value> is_same(Interpreter&, Value self, const Arguments& args) {
  const Value other = args[0];
  if (self.kind() != other.kind()) return Value::boolean(false);
  switch (self.kind()) {
    case Kind::kNone:
      return Value::boolean(true);
    case Kind::kBool:
    case Kind::kInt:
      return Value::boolean(self.as_integer() == other.as_integer());
    case Kind::kFloat:
      return Value::boolean(self.as_number() == other.as_number());
    case Kind::kString:  // literals and names are one object in Python, most of the time
      return Value::boolean(self.identity() == other.identity() || self.text() == other.text());
    default:
      return Value::boolean(self.identity() == other.identity());
  }
}

template <bool kWantsEqual>
Result<Value> equals(Interpreter& in, Value self, const Arguments& args) {
  INGOT_TRY(const bool is_equal, equal(in.heap(), self, args[0]));
  return Value::boolean(is_equal == kWantsEqual);
}

template <Ordering kOrder, bool kOrEqual>
Result<Value> ordered(Interpreter& in, Value self, const Arguments& args) {
  INGOT_TRY(const Ordering order,
            compare(in.heap(), self, args[0], kOrder == Ordering::kLess ? "<" : ">"));
  return Value::boolean(order == kOrder || (kOrEqual && order == Ordering::kEqual));
}

Result<Value> is_in(Interpreter& in, Value self, const Arguments& args) {
  INGOT_TRY(const bool is_inside, contains(in.heap(), args[0], self));
  return Value::boolean(is_inside);
}

template <const Builtin* (*kFind)(std::string_view)>
Result<Value> is_known(Interpreter&, Value self, const Arguments&) {
  INGOT_TRY(check_hashable(self));
  return Value::boolean(self.is_string() && kFind(self.text()) != nullptr);
}

constexpr Builtin kTests[] = {
    {"!=", "other", equals<false>},
    {"<", "other", ordered<Ordering::kLess, false>},
    {"<=", "other", ordered<Ordering::kLess, true>},
    {"==", "other", equals<true>},
    {">", "other", ordered<Ordering::kGreater, false>},
    {">=", "other", ordered<Ordering::kGreater, true>},
    {"boolean", "", simple<is_boolean>},
    {"callable", "", simple<is_callable>},
    {"defined", "", simple<is_defined>},
    {"divisibleby", "num", is_divisible},
    {"eq", "other", equals<true>},
    {"equalto", "other", equals<true>},
    {"escaped", "", simple<is_escaped>},
    {"even", "", is_even},
    {"false", "", simple<is_exactly_false>},
    {"filter", "", is_known<find_filter>},
    {"float", "", simple<is_float>},
    {"ge", "other", ordered<Ordering::kGreater, true>},
    {"greaterthan", "other", ordered<Ordering::kGreater, false>},
    {"gt", "other", ordered<Ordering::kGreater, false>},
    {"in", "seq", is_in},
    {"integer", "", simple<is_integer>},
    {"iterable", "", simple<can_iterate>},
    {"le", "other", ordered<Ordering::kLess, true>},
    {"lessthan", "other", ordered<Ordering::kLess, false>},
    {"lower", "", has_case<false>},
    {"lt", "other", ordered<Ordering::kLess, false>},
    {"mapping", "", simple<is_mapping>},
    {"ne", "other", equals<false>},
    {"none", "", simple<is_none>},
    {"number", "", simple<is_any_number>},
    {"odd", "", is_odd},
    {"sameas", "other", is_same},
    {"sequence", "", simple<is_any_sequence>},
    {"string", "", simple<is_text>},
    {"test", "", is_known<find_test>},
    {"true", "", simple<is_exactly_true>},
    {"undefined", "", simple<is_not_defined>},
    {"upper", "", has_case<true>},
};

}  // namespace

std::span<const Builtin> tests() {
  return kTests;
}

}  // namespace ingot::jinja
