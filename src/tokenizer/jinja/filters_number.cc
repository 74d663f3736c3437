// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <charconv>
#include <cmath>

#include "tokenizer/jinja/builtins.h"
#include "tokenizer/jinja/errors.h"
#include "tokenizer/jinja/interpreter.h"
#include "tokenizer/jinja/text_tools.h"

namespace ingot::jinja {
namespace {

Result<Value> absolute(Interpreter& in, Value self, const Arguments&) {
  if (self.is_integral()) {
    if (self.as_integer() == INT64_MIN)
      return Status::invalid_data("an integer does not fit in 64 bits");
    return Value::integer(std::abs(self.as_integer()));
  }
  if (self.is(Kind::kFloat)) return Value::number(std::fabs(self.as_number()));
  INGOT_TRY(check_defined(in.heap(), self));
  return Status::invalid_data("bad operand type for abs(): '{}'", type_name(self));
}

// Towards zero. Python's integers have no end; ours are refused past 64 bits.
Result<Value> truncated(double value) {
  if (!(value >= -9223372036854775808.0 && value < 9223372036854775808.0)) {
    return Status::invalid_data("cannot convert a float of this size to an integer");
  }
  return Value::integer(static_cast<int64_t>(value));
}

Result<Value> to_int(Interpreter& in, Value self, const Arguments& args) {
  Heap& heap = in.heap();
  const Value standard = args.has(0) ? args[0] : Value::integer(0);
  if (self.is_integral()) return Value::integer(self.as_integer());
  if (self.is(Kind::kFloat)) {
    if (std::isnan(self.as_number())) return standard;
    return truncated(self.as_number());
  }
  INGOT_TRY(check_defined(heap, self));
  if (!self.is_string()) return standard;
  int64_t base = 10;
  if (args.has(1)) {
    INGOT_TRY(base, expect_integer(heap, args[1]));
  }
  INGOT_TRY(heap.budget().scan(self.text().size()));
  if (base < 0 || base > 36 || base == 1) base = 99;
  INGOT_TRY(const std::optional<int64_t> whole, parse_integer(self.text(), static_cast<int>(base)));
  if (whole) return Value::integer(*whole);
  const std::optional<double> number = parse_float(self.text());
  if (!number || !std::isfinite(*number)) return standard;
  return truncated(*number);
}

Result<Value> to_float(Interpreter& in, Value self, const Arguments& args) {
  if (self.is_number()) return Value::number(self.as_number());
  INGOT_TRY(check_defined(in.heap(), self));
  if (self.is_string()) {
    INGOT_TRY(in.heap().budget().scan(self.text().size()));
    if (const std::optional<double> number = parse_float(self.text()))
      return Value::number(*number);
  }
  return args.has(0) ? args[0] : Value::number(0);
}

// round(x, precision): the decimal nearest to the exact value, halves to even, as Python does it.
double round_to(double value, int64_t precision) {
  if (!std::isfinite(value) || precision > 330) return value;
  if (precision < -310) return 0 * value;
  if (precision >= 0) {
    std::array<char, 700> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                   std::chars_format::fixed, static_cast<int>(precision));
    double rounded = value;
    std::from_chars(buffer.data(), end.ptr, rounded);
    return rounded;
  }
  const double unit = std::pow(10.0, static_cast<double>(-precision));
  return std::nearbyint(value / unit) * unit;
}

Result<Value> round_integer(int64_t value, int64_t precision) {
  if (precision >= 0) return Value::integer(value);
  if (precision < -18) return Value::integer(0);
  int64_t unit = 1;
  for (int64_t i = 0; i < -precision; ++i)
    unit *= 10;
  int64_t quotient = value / unit;
  const int64_t rest = std::abs(value % unit);
  const bool is_up = rest > unit / 2 || (rest == unit / 2 && quotient % 2 != 0);
  if (is_up) quotient += value < 0 ? -1 : 1;
  int64_t result = 0;
  if (__builtin_mul_overflow(quotient, unit, &result)) {
    return Status::invalid_data("an integer does not fit in 64 bits");
  }
  return Value::integer(result);
}

Result<Value> round_number(Interpreter& in, Value self, const Arguments& args) {
  Heap& heap = in.heap();
  int64_t precision = 0;
  std::string_view method = "common";
  if (args.has(0)) {
    INGOT_TRY(precision, expect_integer(heap, args[0]));
  }
  if (args.has(1)) {
    INGOT_TRY(method, expect_text(heap, args[1]));
  }
  if (method != "common" && method != "ceil" && method != "floor") {
    return Status::invalid_data("method must be common, ceil or floor");
  }
  if (!self.is_number()) {
    INGOT_TRY(check_defined(heap, self));
    return Status::invalid_data("type {} doesn't define __round__ method", type_name(self));
  }
  if (method == "common") {
    if (self.is_integral()) return round_integer(self.as_integer(), precision);
    return Value::number(round_to(self.as_number(), precision));
  }
  const double unit = std::pow(10.0, static_cast<double>(precision));
  const double scaled = self.as_number() * unit;
  if (!std::isfinite(scaled))
    return Status::invalid_data("cannot convert float infinity or NaN to integer");
  const double whole = method == "ceil" ? std::ceil(scaled) : std::floor(scaled);
  return Value::number((whole + 0.0) / unit);  // an integer in Python, so never -0.0
}

Result<Value> filesizeformat(Interpreter& in, Value self, const Arguments& args) {
  INGOT_TRY(const Value number, to_float(in, self, Arguments{}));
  const double bytes = number.as_number();
  const bool is_binary = is_true(args[0]);
  const double base = is_binary ? 1024 : 1000;
  if (bytes == 1) return in.heap().view("1 Byte");
  if (bytes < base) return in.heap().text(fmt::format("{} Bytes", std::trunc(bytes)));
  constexpr std::string_view kLetters = "kMGTPEZY";
  double unit = base;
  for (size_t i = 0; i < kLetters.size(); ++i) {
    unit *= base;
    if (bytes >= unit && i + 1 < kLetters.size()) continue;
    const std::string prefix = is_binary ? fmt::format("{}iB", i == 0 ? 'K' : kLetters[i])
                                         : fmt::format("{}B", kLetters[i]);
    return in.heap().text(fmt::format("{:.1f} {}", base * bytes / unit, prefix));
  }
  return in.heap().view("");
}

constexpr Builtin kNumberFilters[] = {
    {"abs", "", absolute},
    {"filesizeformat", "binary?", filesizeformat},
    {"float", "default?", to_float},
    {"int", "default? base?", to_int},
    {"round", "precision? method?", round_number},
};

}  // namespace

std::span<const Builtin> number_filters() {
  return kNumberFilters;
}

}  // namespace ingot::jinja
