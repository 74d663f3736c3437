// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cmath>

#include "tokenizer/jinja/parser_state.h"

namespace ingot::jinja {
namespace {

// Binary operators from the loosest to the tightest; `not` stands between `and` and comparisons.
enum Level : int {
  kOrLevel,
  kAndLevel,
  kNotLevel,
  kCompareLevel,
  kAddLevel,
  kConcatLevel,
  kMultiplyLevel,
  kPowerLevel
};

BinaryOperator binary_operator(const Token& token) {
  switch (token.type) {
    case TokenType::kAdd:
      return BinaryOperator::kAdd;
    case TokenType::kSub:
      return BinaryOperator::kSubtract;
    case TokenType::kMul:
      return BinaryOperator::kMultiply;
    case TokenType::kDiv:
      return BinaryOperator::kDivide;
    case TokenType::kFloorDiv:
      return BinaryOperator::kFloorDivide;
    case TokenType::kMod:
      return BinaryOperator::kModulo;
    case TokenType::kPow:
      return BinaryOperator::kPower;
    case TokenType::kEq:
      return BinaryOperator::kEqual;
    case TokenType::kNe:
      return BinaryOperator::kNotEqual;
    case TokenType::kLt:
      return BinaryOperator::kLess;
    case TokenType::kLe:
      return BinaryOperator::kLessEqual;
    case TokenType::kGt:
      return BinaryOperator::kGreater;
    case TokenType::kGe:
      return BinaryOperator::kGreaterEqual;
    default:
      return token.text == "not" ? BinaryOperator::kNotIn : BinaryOperator::kIn;
  }
}

std::string without_underscores(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c != '_') result += c;
  }
  return result;
}

}  // namespace

// value if condition else value if condition else ...
Result<NodeId> Parser::expression() {
  const Nesting nesting(*this);
  INGOT_TRY(nesting.check());
  Node conditional = node(NodeKind::kConditional);
  INGOT_TRY(NodeId value, operators(kOrLevel));
  std::vector<uint32_t> branches;
  while (is_name("if")) {
    INGOT_TRY(advance());
    INGOT_TRY(const NodeId condition, operators(kOrLevel));
    branches.insert(branches.end(), {value, condition});
    INGOT_TRY(const bool has_else, skip_if_name("else"));
    if (has_else) {
      INGOT_TRY(value, operators(kOrLevel));
    } else if (is_name("if")) {
      return error("a second 'if' needs an 'else' or parentheses before it");
    } else {
      return add(conditional, branches);
    }
  }
  if (branches.empty()) return value;
  conditional.b = value;
  return add(conditional, branches);
}

Result<int> Parser::operator_level() {
  switch (current_.type) {
    case TokenType::kName: {
      if (current_.text == "or") return kOrLevel;
      if (current_.text == "and") return kAndLevel;
      if (current_.text == "in") return kCompareLevel;
      if (current_.text != "not") return -1;
      INGOT_TRY(const Token next, peek());
      return next.type == TokenType::kName && next.text == "in" ? kCompareLevel : -1;
    }
    case TokenType::kEq:
    case TokenType::kNe:
    case TokenType::kLt:
    case TokenType::kLe:
    case TokenType::kGt:
    case TokenType::kGe:
      return kCompareLevel;
    case TokenType::kAdd:
    case TokenType::kSub:
      return kAddLevel;
    case TokenType::kTilde:
      return kConcatLevel;
    case TokenType::kMul:
    case TokenType::kDiv:
    case TokenType::kFloorDiv:
    case TokenType::kMod:
      return kMultiplyLevel;
    case TokenType::kPow:
      return kPowerLevel;
    default:
      return -1;
  }
}

// Operands joined by operators of level `lowest` and tighter ones.
Result<NodeId> Parser::operators(int lowest) {
  NodeId left = kNoNode;
  int tightest = kPowerLevel;
  if (lowest <= kNotLevel && is_name("not")) {
    const Nesting nesting(*this);
    INGOT_TRY(nesting.check());
    Node negation = node(NodeKind::kNot);
    INGOT_TRY(advance());
    INGOT_TRY(negation.a, operators(kNotLevel));
    left = add(negation);
    tightest = kAndLevel;  // the operand took everything that binds tighter
  } else {
    INGOT_TRY(left, unary(true));
  }
  while (true) {
    INGOT_TRY(const int level, operator_level());
    if (level < lowest || level > tightest) return left;
    INGOT_TRY(left, operator_chain(left, level));
    tightest = level - 1;
  }
}

Result<NodeId> Parser::operator_chain(NodeId first, int level) {
  Node chain = node(NodeKind::kArithmetic);
  std::vector<uint32_t> list;
  const bool is_plain = level == kOrLevel || level == kAndLevel || level == kConcatLevel;
  if (level == kOrLevel) chain.kind = NodeKind::kOr;
  if (level == kAndLevel) chain.kind = NodeKind::kAnd;
  if (level == kConcatLevel) chain.kind = NodeKind::kConcat;
  if (level == kCompareLevel) chain.kind = NodeKind::kCompare;
  if (is_plain) {
    list.push_back(first);
  } else {
    chain.a = first;
  }
  while (true) {
    INGOT_TRY(const int next, operator_level());
    if (next != level) return add(chain, list);
    if (!is_plain) {
      const BinaryOperator sign = binary_operator(current_);
      list.push_back(static_cast<uint32_t>(sign));
      if (sign == BinaryOperator::kNotIn) INGOT_TRY(advance());
    }
    INGOT_TRY(advance());
    INGOT_TRY(const NodeId operand, operators(level + 1));
    list.push_back(operand);
  }
}

Result<NodeId> Parser::unary(bool with_filters) {
  if (!is(TokenType::kSub) && !is(TokenType::kAdd)) {
    INGOT_TRY(const NodeId begin, primary(false));
    return path(begin, with_filters);
  }
  const Nesting nesting(*this);
  INGOT_TRY(nesting.check());
  Node sign = node(is(TokenType::kSub) ? NodeKind::kNegative : NodeKind::kPositive);
  INGOT_TRY(advance());
  INGOT_TRY(sign.a, unary(false));
  return path(add(sign), with_filters);
}

Result<NodeId> Parser::primary(bool allows_namespace) {
  switch (current_.type) {
    case TokenType::kName:
      break;
    case TokenType::kString:
      return string();
    case TokenType::kInteger:
    case TokenType::kFloat:
      return number();
    case TokenType::kLeftParen: {
      INGOT_TRY(advance());
      INGOT_TRY(const NodeId inner, tuple({.allows_empty = true}));
      INGOT_TRY(expect(TokenType::kRightParen, ")"));
      return inner;
    }
    case TokenType::kLeftBracket:
      return list_literal();
    case TokenType::kLeftBrace:
      return dict_literal();
    default:
      return unexpected();
  }
  const Token token = current_;
  INGOT_TRY(advance());
  if (token.text == "true" || token.text == "True")
    return constant(Value::boolean(true), token.line);
  if (token.text == "false" || token.text == "False")
    return constant(Value::boolean(false), token.line);
  if (token.text == "none" || token.text == "None") return constant(Value::none(), token.line);
  Node name{.kind = NodeKind::kName, .line = token.line, .a = intern(token.text)};
  if (allows_namespace && is(TokenType::kDot)) {
    INGOT_TRY(advance());
    INGOT_TRY(const Token attribute, expect(TokenType::kName, "a name"));
    name.kind = NodeKind::kNamespaceName;
    name.b = intern(attribute.text);
    return add(name);
  }
  uint8_t use = 0;
  if (token.text == "caller") use = kUsesCaller;
  if (token.text == "varargs") use = kUsesVarargs;
  if (token.text == "kwargs") use = kUsesKwargs;
  for (uint8_t& uses : macro_uses_)
    uses = static_cast<uint8_t>(uses | use);
  return add(name);
}

Result<NodeId> Parser::number() {
  const Token token = current_;
  INGOT_TRY(advance());
  std::string digits = without_underscores(token.text);
  if (token.type == TokenType::kFloat) {
    double value = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (read.ec == std::errc::result_out_of_range)
      value = digits.find("e-") != std::string::npos ? 0 : HUGE_VAL;
    return constant(Value::number(value), token.line);
  }
  int base = 10;
  if (digits.size() > 2 && digits[0] == '0') {
    const char marker = static_cast<char>(digits[1] | 0x20);
    base = marker == 'x' ? 16 : marker == 'o' ? 8 : marker == 'b' ? 2 : 10;
    if (base != 10) digits.erase(0, 2);
  }
  int64_t value = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (read.ec != std::errc()) {
    return Status::invalid_data("line {}: the integer {} does not fit in 64 bits", token.line,
                                token.text.substr(0, 40));
  }
  return constant(Value::integer(value), token.line);
}

Result<NodeId> Parser::string() {
  const uint32_t line = current_.line;
  INGOT_TRY(const Token next, peek());
  const std::string_view quoted = current_.text;
  if (next.type != TokenType::kString && quoted.find('\\') == std::string_view::npos) {
    INGOT_TRY(advance());
    return text_constant(quoted.substr(1, quoted.size() - 2), NodeKind::kConstant, line);
  }
  std::string joined;
  while (is(TokenType::kString)) {
    Result<std::string> part = unescape(current_.text);
    if (!part.is_ok()) return error("{}", part.status().message());
    joined += *part;
    INGOT_TRY(advance());
  }
  program_.unescaped.push_back(std::move(joined));
  return text_constant(program_.unescaped.back(), NodeKind::kConstant, line);
}

Result<NodeId> Parser::list_literal() {
  const Node literal = node(NodeKind::kList);
  std::vector<uint32_t> items;
  INGOT_TRY(advance());
  while (!is(TokenType::kRightBracket)) {
    if (!items.empty()) {
      INGOT_TRY(expect(TokenType::kComma, ","));
      if (is(TokenType::kRightBracket)) break;
    }
    INGOT_TRY(const NodeId item, expression());
    items.push_back(item);
  }
  INGOT_TRY(advance());
  return add(literal, items);
}

Result<NodeId> Parser::dict_literal() {
  const Node literal = node(NodeKind::kDict);
  std::vector<uint32_t> items;
  INGOT_TRY(advance());
  while (!is(TokenType::kRightBrace)) {
    if (!items.empty()) {
      INGOT_TRY(expect(TokenType::kComma, ","));
      if (is(TokenType::kRightBrace)) break;
    }
    INGOT_TRY(const NodeId key, expression());
    INGOT_TRY(expect(TokenType::kColon, ":"));
    INGOT_TRY(const NodeId value, expression());
    items.insert(items.end(), {key, value});
  }
  INGOT_TRY(advance());
  return add(literal, items);
}

Result<NodeId> Parser::tuple_item(const TupleRules& rules) {
  if (rules.is_target) {
    const Nesting nesting(*this);
    INGOT_TRY(nesting.check());
    return primary(rules.allows_namespace);
  }
  return rules.allows_conditional ? expression() : operators(kOrLevel);
}

// One expression, or several with commas between them, which make a tuple.
Result<NodeId> Parser::tuple(const TupleRules& rules) {
  const Node literal = node(NodeKind::kTuple);
  std::vector<uint32_t> items;
  bool is_tuple = false;
  while (true) {
    if (!items.empty()) INGOT_TRY(expect(TokenType::kComma, ","));
    const bool is_end = is(TokenType::kVariableEnd) || is(TokenType::kBlockEnd) ||
                        is(TokenType::kRightParen) ||
                        (!rules.end_name.empty() && is_name(rules.end_name));
    if (is_end) break;
    INGOT_TRY(const NodeId item, tuple_item(rules));
    items.push_back(item);
    if (!is(TokenType::kComma)) break;
    is_tuple = true;
  }
  if (is_tuple) return add(literal, items);
  if (!items.empty()) return items[0];
  if (!rules.allows_empty) return error("an expression is missing");
  return add(literal, items);
}

}  // namespace ingot::jinja
