// SPDX-License-Identifier: Apache-2.0
// Expressions. One function a kind of node, kept small: their frames are the depth of the C++
// stack.
#include "tokenizer/jinja/access.h"
#include "tokenizer/jinja/compare.h"
#include "tokenizer/jinja/dict.h"
#include "tokenizer/jinja/errors.h"
#include "tokenizer/jinja/interpreter.h"
#include "tokenizer/jinja/iterate.h"
#include "tokenizer/jinja/operators.h"
#include "tokenizer/jinja/python_text.h"

namespace ingot::jinja {
namespace {

Result<bool> holds(Heap& heap, BinaryOperator sign, Value left, Value right) {
  switch (sign) {
    case BinaryOperator::kEqual:
      return equal(heap, left, right);
    case BinaryOperator::kNotEqual: {
      INGOT_TRY(const bool is_equal, equal(heap, left, right));
      return !is_equal;
    }
    case BinaryOperator::kIn:
      return contains(heap, right, left);
    case BinaryOperator::kNotIn: {
      INGOT_TRY(const bool is_inside, contains(heap, right, left));
      return !is_inside;
    }
    case BinaryOperator::kLess: {
      INGOT_TRY(const Ordering order, compare(heap, left, right, "<"));
      return order == Ordering::kLess;
    }
    case BinaryOperator::kLessEqual: {
      INGOT_TRY(const Ordering order, compare(heap, left, right, "<="));
      return order == Ordering::kLess || order == Ordering::kEqual;
    }
    case BinaryOperator::kGreater: {
      INGOT_TRY(const Ordering order, compare(heap, left, right, ">"));
      return order == Ordering::kGreater;
    }
    default: {
      INGOT_TRY(const Ordering order, compare(heap, left, right, ">="));
      return order == Ordering::kGreater || order == Ordering::kEqual;
    }
  }
}

}  // namespace

Result<Value> Interpreter::evaluate(NodeId id) {
  const Node& node = program_.nodes[id];
  line_ = node.line;
  INGOT_TRY(heap_.budget().step());
  const DepthCount count(*this);
  if (depth_ > kMostDepth) {
    return Status::resource_exhausted("the template calls itself too deeply");
  }
  return dispatch(node);
}

Result<Value> Interpreter::dispatch(const Node& node) {
  switch (node.kind) {
    case NodeKind::kConstant:
      return constant(node);
    case NodeKind::kName:
      return look_up(node.a);
    case NodeKind::kList:
      return sequence(node, Kind::kList);
    case NodeKind::kTuple:
      return sequence(node, Kind::kTuple);
    case NodeKind::kDict:
      return dict(node);
    case NodeKind::kOr:
    case NodeKind::kAnd:
      return logical(node);
    case NodeKind::kNot:
      return negation(node);
    case NodeKind::kNegative:
    case NodeKind::kPositive:
      return sign(node);
    case NodeKind::kArithmetic:
      return arithmetic(node);
    case NodeKind::kConcat:
      return concat(node);
    case NodeKind::kCompare:
      return comparison(node);
    case NodeKind::kConditional:
      return conditional(node);
    case NodeKind::kPath:
      return path(node);
    default:
      return Status::internal("node {} is no expression", static_cast<int>(node.kind));
  }
}

Result<Value> Interpreter::constant(const Node& node) {
  const Constant& literal = program_.constants[node.a];
  if (!literal.scalar.is_absent()) return literal.scalar;
  Value& made = constants_[node.a];
  if (made.is_absent()) {
    INGOT_TRY(made, heap_.view(literal.text));
  }
  return made;
}

Result<Value> Interpreter::sequence(const Node& node, Kind kind) {
  const std::span<const uint32_t> list = program_.list(node);
  INGOT_TRY(const std::span<Value> items, heap_.array<Value>(list.size()));
  for (size_t i = 0; i < list.size(); ++i) {
    INGOT_TRY(items[i], evaluate(list[i]));
  }
  return heap_.own_sequence(kind, items);
}

Result<Value> Interpreter::dict(const Node& node) {
  const std::span<const uint32_t> list = program_.list(node);
  DictBuilder builder(heap_);
  for (size_t i = 0; i + 1 < list.size(); i += 2) {
    INGOT_TRY(const Value key, evaluate(list[i]));
    INGOT_TRY(const Value value, evaluate(list[i + 1]));
    INGOT_TRY(builder.add(key, value));
  }
  return builder.finish();
}

// The operand that decides, not its truth: `name or 'nobody'`.
Result<Value> Interpreter::logical(const Node& node) {
  const bool is_or = node.kind == NodeKind::kOr;
  Value value;
  for (const NodeId operand : program_.list(node)) {
    INGOT_TRY(value, evaluate(operand));
    if (is_true(value) == is_or) break;
  }
  return value;
}

Result<Value> Interpreter::negation(const Node& node) {
  INGOT_TRY(const Value value, evaluate(node.a));
  return Value::boolean(!is_true(value));
}

Result<Value> Interpreter::sign(const Node& node) {
  INGOT_TRY(const Value value, evaluate(node.a));
  return node.kind == NodeKind::kNegative ? negative(heap_, value) : positive(heap_, value);
}

// A chain of + over strings is joined once, at its end, so a long one costs its length and no more.
Result<Value> Interpreter::arithmetic(const Node& node) {
  const std::span<const uint32_t> list = program_.list(node);
  INGOT_TRY(Value left, evaluate(node.a));
  std::optional<TextBuilder> joined;
  for (size_t i = 0; i + 1 < list.size(); i += 2) {
    INGOT_TRY(const Value right, evaluate(list[i + 1]));
    const auto sign = static_cast<BinaryOperator>(list[i]);
    const bool is_join = sign == BinaryOperator::kAdd && left.is_string() && right.is_string() &&
                         !left.is_markup() && !right.is_markup();
    if (is_join) {
      if (!joined) {
        joined.emplace(heap_);
        joined->append(left.text());
      }
      joined->append(right.text());
      continue;
    }
    if (joined) {
      INGOT_TRY(left, joined->finish());
      joined.reset();
    }
    INGOT_TRY(left, binary(heap_, sign, left, right));
  }
  if (joined) return joined->finish();
  return left;
}

Result<Value> Interpreter::concat(const Node& node) {
  TextBuilder out(heap_);
  for (const NodeId operand : program_.list(node)) {
    INGOT_TRY(const Value value, evaluate(operand));
    write_str(out, value);
    if (out.has_failed()) return out.status();
  }
  return out.finish();
}

// a < b < c, as Python reads it.
Result<Value> Interpreter::comparison(const Node& node) {
  const std::span<const uint32_t> list = program_.list(node);
  INGOT_TRY(Value left, evaluate(node.a));
  for (size_t i = 0; i + 1 < list.size(); i += 2) {
    INGOT_TRY(const Value right, evaluate(list[i + 1]));
    INGOT_TRY(const bool is_so, holds(heap_, static_cast<BinaryOperator>(list[i]), left, right));
    if (!is_so) return Value::boolean(false);
    left = right;
  }
  return Value::boolean(true);
}

Result<Value> Interpreter::conditional(const Node& node) {
  const std::span<const uint32_t> list = program_.list(node);
  for (size_t i = 0; i + 1 < list.size(); i += 2) {
    INGOT_TRY(const Value condition, evaluate(list[i + 1]));
    if (is_true(condition)) return evaluate(list[i]);
  }
  if (node.b != kNoNode) return evaluate(node.b);
  return heap_.undefined_because(
      "the inline if-expression evaluated to false and no else section was defined");
}

Result<Value> Interpreter::path(const Node& node, std::optional<Value> caller) {
  const std::span<const uint32_t> steps = program_.list(node);
  INGOT_TRY(Value value, evaluate(node.a));
  for (size_t i = 0; i < steps.size(); ++i) {
    const Node& next = program_.nodes[steps[i]];
    INGOT_TRY(heap_.budget().step());
    const bool is_last = i + 1 == steps.size();
    if (next.kind == NodeKind::kCall) {
      INGOT_TRY(value, call_step(value, next, is_last ? caller : std::nullopt));
      continue;
    }
    // x.method(...): called without making the method a value first.
    if (next.kind == NodeKind::kAttribute && !is_last && !value.is_undefined()) {
      const Node& after = program_.nodes[steps[i + 1]];
      const Builtin* method =
          after.kind == NodeKind::kCall ? find_method(value, program_.names[next.a]) : nullptr;
      if (method != nullptr) {
        ++i;
        INGOT_TRY(value, call_method(value, *method, after,
                                     i + 1 == steps.size() ? caller : std::nullopt));
        continue;
      }
    }
    INGOT_TRY(value, step(value, next));
  }
  return value;
}

Result<Value> Interpreter::step(Value value, const Node& node) {
  switch (node.kind) {
    case NodeKind::kAttribute:
      return get_attribute(heap_, value, program_.names[node.a]);
    case NodeKind::kItem: {
      INGOT_TRY(const Value key, evaluate(node.a));
      return get_item(heap_, value, key);
    }
    case NodeKind::kSlice:
      return slice_step(value, node);
    case NodeKind::kFilter: {
      Evaluated evaluated;
      INGOT_TRY(arguments(node, evaluated));
      return call_filter(program_.names[node.a], value, evaluated.args());
    }
    default: {
      Evaluated evaluated;
      INGOT_TRY(arguments(node, evaluated));
      INGOT_TRY(const bool is_so, call_test(program_.names[node.a], value, evaluated.args()));
      return Value::boolean(is_so != (node.flag != 0));
    }
  }
}

Result<Value> Interpreter::slice_step(Value value, const Node& node) {
  Value bounds[3];
  const NodeId ids[3] = {node.a, node.b, node.c};
  for (size_t i = 0; i < 3; ++i) {
    bounds[i] = Value::none();
    if (ids[i] == kNoNode) continue;
    INGOT_TRY(bounds[i], evaluate(ids[i]));
  }
  return get_slice(heap_, value, bounds[0], bounds[1], bounds[2]);
}

Result<Value> Interpreter::call_step(Value callee, const Node& node, std::optional<Value> caller) {
  Evaluated evaluated;
  INGOT_TRY(arguments(node, evaluated));
  if (caller) evaluated.keywords.push_back({"caller", *caller});
  return call(callee, evaluated.args());
}

Result<Value> Interpreter::call_method(Value self, const Builtin& method, const Node& node,
                                       std::optional<Value> caller) {
  Evaluated evaluated;
  INGOT_TRY(arguments(node, evaluated));
  if (caller) evaluated.keywords.push_back({"caller", *caller});
  return call_builtin(method, self, evaluated.args());
}

Status Interpreter::arguments(const Node& node, Evaluated& out) {
  for (const NodeId id : program_.list(node)) {
    const Node& argument = program_.nodes[id];
    if (argument.kind == NodeKind::kKeyword) {
      INGOT_TRY(const Value value, evaluate(argument.b));
      out.keywords.push_back({program_.names[argument.a], value});
    } else if (argument.kind == NodeKind::kSpread) {
      INGOT_TRY(const Value all, evaluate(argument.a));
      INGOT_TRY(const std::span<const Value> items, iterate(heap_, all));
      INGOT_TRY(heap_.budget().reserve(items.size_bytes()));
      out.positional.insert(out.positional.end(), items.begin(), items.end());
    } else if (argument.kind == NodeKind::kSpreadPairs) {
      INGOT_TRY(const Value pairs, evaluate(argument.a));
      INGOT_TRY(spread_pairs(pairs, out));
    } else {
      INGOT_TRY(const Value value, evaluate(id));
      out.positional.push_back(value);
    }
  }
  return Status::ok();
}

Status Interpreter::spread_pairs(Value pairs, Evaluated& out) {
  if (!pairs.is_dict()) {
    INGOT_TRY(check_defined(heap_, pairs));
    return Status::invalid_data("argument after ** must be a mapping, not {}", type_name(pairs));
  }
  const std::span<const DictEntry> entries = pairs.dict().entries;
  INGOT_TRY(heap_.budget().reserve(2 * entries.size_bytes()));
  for (const DictEntry& entry : entries) {
    if (!entry.key.is_string()) return Status::invalid_data("keywords must be strings");
    // Quadratic in the keywords of one call, and paid for.
    INGOT_TRY(heap_.budget().step(1 + out.keywords.size() / 16));
    for (const Keyword& known : out.keywords) {
      if (known.name == entry.key.text()) {
        return Status::invalid_data("got multiple values for keyword argument '{}'",
                                    known.name.substr(0, 100));
      }
    }
    out.keywords.push_back({entry.key.text(), entry.value});
  }
  return Status::ok();
}

}  // namespace ingot::jinja
