// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cmath>

#include "tokenizer/jinja/parser_state.h"

namespace ingot::jinja {
namespace {

// Binary operators from the loosest to the tightest; `not` stands between `and` and comparisons.
enum Level : int { kOrLevel, kAndLevel, kNotLevel, kCompareLevel, kAddLevel, kConcatLevel, kMultiplyLevel, kPowerLevel };

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
  if (token.text == "true" || token.text == "True") return constant(Value::boolean(true), token.line);
  if (token.text == "false" || token.text == "False") return constant(Value::boolean(false), token.line);
  if (token.text == "none" || token.text == "None") return constant(Value::none(), token.line);
  Node name{.kind = NodeKind::kName, .line = token.line, .a = intern(token.text)};
  if (allows_namespace && is(TokenType::kDot)) {
    INGOT_TRY(advance());
    INGOT_TRY(const Token attribute, expect(TokenType::kName, "a name"));
    name.kind = NodeKind::kNamespaceName;
    name.b = intern(attribute.text);
    return add(name);
  }
  for (MacroUse& macro : macros_) {
    if (token.text == "caller") macro.uses |= kUsesCaller;
    if (token.text == "varargs") macro.uses |= kUsesVarargs;
    if (token.text == "kwargs") macro.uses |= kUsesKwargs;
  }
  return add(name);
}

Result<NodeId> Parser::number() {
  const Token token = current_;
  INGOT_TRY(advance());
  std::string digits = without_underscores(token.text);
  if (token.type == TokenType::kFloat) {
    double value = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (read.ec == std::errc::result_out_of_range) value = digits.find("e-") != std::string::npos ? 0 : HUGE_VAL;
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

Status Parser::postfix_steps(std::vector<uint32_t>& steps) {
  while (true) {
    NodeId step = kNoNode;
    if (is(TokenType::kDot)) {
      INGOT_TRY(step, attribute_step());
    } else if (is(TokenType::kLeftBracket)) {
      INGOT_TRY(step, subscript_step());
    } else if (is(TokenType::kLeftParen)) {
      INGOT_TRY(step, call_step());
    } else {
      return Status::ok();
    }
    steps.push_back(step);
  }
}

// x.a[b](c), then |filters and `is` tests, which only calls may follow.
Result<NodeId> Parser::path(NodeId begin, bool with_filters) {
  Node node{.kind = NodeKind::kPath, .line = current_.line, .a = begin};
  std::vector<uint32_t> steps;
  INGOT_TRY(postfix_steps(steps));
  while (with_filters) {
    NodeId step = kNoNode;
    if (is(TokenType::kPipe)) {
      INGOT_TRY(advance());
      INGOT_TRY(step, filter_step());
    } else if (is_name("is")) {
      INGOT_TRY(step, test_step());
    } else if (is(TokenType::kLeftParen)) {
      INGOT_TRY(step, call_step());
    } else {
      break;
    }
    steps.push_back(step);
  }
  return steps.empty() ? begin : add(node, steps);
}

Result<NodeId> Parser::attribute_step() {
  Node step = node(NodeKind::kAttribute);
  INGOT_TRY(advance());
  if (is(TokenType::kInteger)) {
    step.kind = NodeKind::kItem;
    INGOT_TRY(step.a, number());
    return add(step);
  }
  INGOT_TRY(const Token name, expect(TokenType::kName, "a name or a number"));
  step.a = intern(name.text);
  return add(step);
}

Result<NodeId> Parser::subscript_step() {
  Node step = node(NodeKind::kItem);
  const Node several = node(NodeKind::kTuple);
  INGOT_TRY(advance());
  std::vector<uint32_t> subscripts;
  while (!is(TokenType::kRightBracket)) {
    if (!subscripts.empty()) INGOT_TRY(expect(TokenType::kComma, ","));
    INGOT_TRY(const NodeId one, subscript());
    subscripts.push_back(one);
  }
  INGOT_TRY(advance());
  if (subscripts.size() == 1 && program_.nodes[subscripts[0]].kind == NodeKind::kSlice) {
    return subscripts[0];
  }
  for (const uint32_t one : subscripts) {
    if (program_.nodes[one].kind == NodeKind::kSlice) return error("a slice stands alone");
  }
  step.a = subscripts.size() == 1 ? subscripts[0] : add(several, subscripts);
  return add(step);
}

Result<NodeId> Parser::subscript() {
  Node slice = node(NodeKind::kSlice);
  if (!is(TokenType::kColon)) {
    INGOT_TRY(slice.a, expression());
    if (!is(TokenType::kColon)) return slice.a;
  }
  INGOT_TRY(advance());
  const auto is_end = [this] { return is(TokenType::kRightBracket) || is(TokenType::kComma); };
  if (!is(TokenType::kColon) && !is_end()) {
    INGOT_TRY(slice.b, expression());
  }
  INGOT_TRY(const bool has_step, skip_if(TokenType::kColon));
  if (has_step && !is_end()) {
    INGOT_TRY(slice.c, expression());
  }
  return add(slice);
}

Result<NodeId> Parser::call_step() {
  const Node step = node(NodeKind::kCall);
  std::vector<uint32_t> list;
  INGOT_TRY(arguments(list));
  return add(step, list);
}

Result<std::string_view> Parser::dotted_name() {
  INGOT_TRY(const Token first, expect(TokenType::kName, "a name"));
  if (!is(TokenType::kDot)) return first.text;
  std::string name(first.text);
  while (is(TokenType::kDot)) {
    INGOT_TRY(advance());
    INGOT_TRY(const Token part, expect(TokenType::kName, "a name"));
    name += '.';
    name += part.text;
  }
  program_.unescaped.push_back(std::move(name));
  return std::string_view(program_.unescaped.back());
}

// A filter's name and arguments, behind the bar.
Result<NodeId> Parser::filter_step() {
  Node step = node(NodeKind::kFilter);
  INGOT_TRY(const std::string_view name, dotted_name());
  step.a = intern(name);
  std::vector<uint32_t> list;
  if (is(TokenType::kLeftParen)) INGOT_TRY(arguments(list));
  return add(step, list);
}

// `is name`, `is not name(arguments)`, `is name argument`.
Result<NodeId> Parser::test_step() {
  Node step = node(NodeKind::kTest);
  INGOT_TRY(advance());
  INGOT_TRY(const bool is_negated, skip_if_name("not"));
  step.flag = is_negated ? 1 : 0;
  INGOT_TRY(const std::string_view name, dotted_name());
  step.a = intern(name);
  std::vector<uint32_t> list;
  switch (current_.type) {
    case TokenType::kLeftParen:
      INGOT_TRY(arguments(list));
      break;
    case TokenType::kName:
      if (is_name("is")) return error("tests with 'is' cannot be chained");
      if (is_name("else") || is_name("or") || is_name("and")) break;
      [[fallthrough]];
    case TokenType::kString:
    case TokenType::kInteger:
    case TokenType::kFloat:
    case TokenType::kLeftBracket:
    case TokenType::kLeftBrace: {
      const Nesting nesting(*this);
      INGOT_TRY(nesting.check());
      INGOT_TRY(const NodeId begin, primary(false));
      INGOT_TRY(const NodeId argument, path(begin, false));
      list.push_back(argument);
      break;
    }
    default:
      break;
  }
  return add(step, list);
}

Status Parser::arguments(std::vector<uint32_t>& list) {
  INGOT_TRY(advance());
  bool has_keyword = false;
  bool has_spread = false;
  bool has_pairs = false;
  while (!is(TokenType::kRightParen)) {
    if (!list.empty()) {
      INGOT_TRY(expect(TokenType::kComma, ","));
      if (is(TokenType::kRightParen)) break;
    }
    Node argument = node(NodeKind::kKeyword);
    if (has_pairs) return error("nothing may follow ** in a call");
    if (is(TokenType::kMul) || is(TokenType::kPow)) {
      if (is(TokenType::kMul) && has_spread) return error("only one * may stand in a call");
      (is(TokenType::kMul) ? has_spread : has_pairs) = true;
      argument.kind = is(TokenType::kMul) ? NodeKind::kSpread : NodeKind::kSpreadPairs;
      INGOT_TRY(advance());
      INGOT_TRY(argument.a, expression());
      list.push_back(add(argument));
      continue;
    }
    bool is_keyword = false;
    if (is(TokenType::kName)) {
      INGOT_TRY(const Token next, peek());
      is_keyword = next.type == TokenType::kAssign;
    }
    if (is_keyword) {
      has_keyword = true;
      argument.a = intern(current_.text);
      INGOT_TRY(advance());
      INGOT_TRY(advance());
      INGOT_TRY(argument.b, expression());
      list.push_back(add(argument));
    } else {
      if (has_keyword || has_spread) return error("a positional argument follows a keyword or a *");
      INGOT_TRY(const NodeId positional, expression());
      list.push_back(positional);
    }
  }
  return advance();
}

}  // namespace ingot::jinja
