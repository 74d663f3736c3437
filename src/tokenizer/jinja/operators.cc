// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/jinja/operators.h"

#include <cmath>

#include "tokenizer/jinja/errors.h"
#include "tokenizer/jinja/python_text.h"

namespace ingot::jinja {
namespace {

Status overflow() {
  return Status::invalid_data("an integer does not fit in 64 bits");
}

Status unsupported(std::string_view sign, Value left, Value right) {
  return Status::invalid_data("unsupported operand type(s) for {}: '{}' and '{}'", sign,
                              type_name(left), type_name(right));
}

Status division_by_zero() {
  return Status::invalid_data("division by zero");
}

std::string_view sign_text(BinaryOperator sign) {
  switch (sign) {
    case BinaryOperator::kAdd:
      return "+";
    case BinaryOperator::kSubtract:
      return "-";
    case BinaryOperator::kMultiply:
      return "*";
    case BinaryOperator::kDivide:
      return "/";
    case BinaryOperator::kFloorDivide:
      return "//";
    case BinaryOperator::kModulo:
      return "%";
    default:
      return "** or pow()";
  }
}

Result<Value> integer_power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) return Status::invalid_data("0.0 cannot be raised to a negative power");
    return Value::number(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) return overflow();
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return overflow();
  }
  return Value::integer(result);
}

Result<Value> integers(BinaryOperator sign, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (sign) {
    case BinaryOperator::kAdd:
      if (__builtin_add_overflow(a, b, &result)) return overflow();
      return Value::integer(result);
    case BinaryOperator::kSubtract:
      if (__builtin_sub_overflow(a, b, &result)) return overflow();
      return Value::integer(result);
    case BinaryOperator::kMultiply:
      if (__builtin_mul_overflow(a, b, &result)) return overflow();
      return Value::integer(result);
    case BinaryOperator::kDivide:
      if (b == 0) return division_by_zero();
      return Value::number(static_cast<double>(a) / static_cast<double>(b));
    case BinaryOperator::kFloorDivide:
    case BinaryOperator::kModulo: {
      if (b == 0) return Status::invalid_data("integer division or modulo by zero");
      if (b == -1) {  // INT64_MIN / -1 overflows, and traps
        if (sign == BinaryOperator::kModulo) return Value::integer(0);
        if (a == INT64_MIN) return overflow();
        return Value::integer(-a);
      }
      int64_t quotient = a / b;
      int64_t rest = a % b;
      if (rest != 0 && (rest < 0) != (b < 0)) {  // Python rounds down, C++ towards zero
        --quotient;
        rest += b;
      }
      return Value::integer(sign == BinaryOperator::kModulo ? rest : quotient);
    }
    default:
      return integer_power(a, b);
  }
}

Result<Value> floats(BinaryOperator sign, double a, double b) {
  switch (sign) {
    case BinaryOperator::kAdd:
      return Value::number(a + b);
    case BinaryOperator::kSubtract:
      return Value::number(a - b);
    case BinaryOperator::kMultiply:
      return Value::number(a * b);
    case BinaryOperator::kDivide:
      if (b == 0) return Status::invalid_data("float division by zero");
      return Value::number(a / b);
    case BinaryOperator::kFloorDivide:
    case BinaryOperator::kModulo: {
      if (b == 0) return Status::invalid_data("float floor division or modulo by zero");
      double rest = std::fmod(a, b);
      double quotient = (a - rest) / b;
      if (rest != 0 && (rest < 0) != (b < 0)) {
        rest += b;
        quotient -= 1;
      } else if (rest == 0) {
        rest = std::copysign(0.0, b);
      }
      if (sign == BinaryOperator::kModulo) return Value::number(rest);
      if (quotient == 0) return Value::number(std::copysign(0.0, a / b));
      const double floored = std::floor(quotient);
      return Value::number(quotient - floored > 0.5 ? floored + 1 : floored);
    }
    default:
      if (a == 0 && b < 0) return Status::invalid_data("0.0 cannot be raised to a negative power");
      if (a < 0 && b != std::floor(b))
        return Status::invalid_data("complex numbers are not supported");
      return Value::number(std::pow(a, b));
  }
}

Result<Value> add_texts(Heap& heap, Value left, Value right) {
  const bool is_markup = left.is_markup() || right.is_markup();
  if (is_markup) {
    INGOT_TRY(left, escape_value(heap, left));
    INGOT_TRY(right, escape_value(heap, right));
  }
  TextBuilder out(heap);
  out.append(left.text());
  out.append(right.text());
  return out.finish(is_markup);
}

Result<Value> add_sequences(Heap& heap, Value left, Value right) {
  const size_t count = left.items().size() + right.items().size();
  INGOT_TRY(heap.budget().copy(count * sizeof(Value)));
  INGOT_TRY(const std::span<Value> items, heap.array<Value>(count));
  std::ranges::copy(left.items(), items.begin());
  std::ranges::copy(right.items(), items.begin() + static_cast<ptrdiff_t>(left.items().size()));
  return heap.own_sequence(left.kind(), items);
}

Result<Value> repeat(Heap& heap, Value what, int64_t times) {
  const uint64_t count = times < 0 ? 0 : static_cast<uint64_t>(times);
  if (what.is_string()) {
    TextBuilder out(heap);
    out.repeat(what.text(), count);
    return out.finish(what.is_markup());
  }
  const std::span<const Value> unit = what.items();
  if (unit.empty() || count == 0) return heap.sequence(what.kind(), {});
  if (count > heap.budget().heap_bytes_left() / unit.size_bytes()) {
    return Status::resource_exhausted("a repeated list needs too much memory");
  }
  INGOT_TRY(heap.budget().copy(count * unit.size_bytes()));
  INGOT_TRY(const std::span<Value> items, heap.array<Value>(count * unit.size()));
  for (size_t i = 0; i < items.size(); ++i)
    items[i] = unit[i % unit.size()];
  return heap.own_sequence(what.kind(), items);
}

bool is_repeatable(Value value) {
  return value.is_string() || value.is(Kind::kList) || value.is(Kind::kTuple);
}

Result<Value> add(Heap& heap, Value left, Value right) {
  if (left.is_string() && right.is_string()) return add_texts(heap, left, right);
  if (left.kind() == right.kind() && (left.is(Kind::kList) || left.is(Kind::kTuple))) {
    return add_sequences(heap, left, right);
  }
  if (is_repeatable(left) && !left.is_markup()) {
    const std::string_view name = type_name(left);
    return Status::invalid_data("can only concatenate {0} (not \"{1}\") to {0}", name,
                                type_name(right));
  }
  return unsupported("+", left, right);
}

}  // namespace

Result<Value> binary(Heap& heap, BinaryOperator sign, Value left, Value right) {
  if (left.is_integral() && right.is_integral())
    return integers(sign, left.as_integer(), right.as_integer());
  if (left.is_number() && right.is_number())
    return floats(sign, left.as_number(), right.as_number());
  if (sign == BinaryOperator::kModulo && left.is_string()) return format_percent(heap, left, right);
  INGOT_TRY(check_defined(heap, left));
  INGOT_TRY(check_defined(heap, right));
  if (sign == BinaryOperator::kAdd) return add(heap, left, right);
  if (sign == BinaryOperator::kMultiply) {
    if (is_repeatable(left) && right.is_integral()) return repeat(heap, left, right.as_integer());
    if (left.is_integral() && is_repeatable(right)) return repeat(heap, right, left.as_integer());
  }
  return unsupported(sign_text(sign), left, right);
}

Result<Value> negative(Heap& heap, Value value) {
  if (value.is_integral()) {
    if (value.as_integer() == INT64_MIN) return overflow();
    return Value::integer(-value.as_integer());
  }
  if (value.is(Kind::kFloat)) return Value::number(-value.as_number());
  INGOT_TRY(check_defined(heap, value));
  return Status::invalid_data("bad operand type for unary -: '{}'", type_name(value));
}

Result<Value> positive(Heap& heap, Value value) {
  if (value.is_integral()) return Value::integer(value.as_integer());
  if (value.is(Kind::kFloat)) return value;
  INGOT_TRY(check_defined(heap, value));
  return Status::invalid_data("bad operand type for unary +: '{}'", type_name(value));
}

}  // namespace ingot::jinja
