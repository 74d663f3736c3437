// SPDX-License-Identifier: Apache-2.0
// What may follow a value: attributes, subscripts, calls, filters and tests.
#include "tokenizer/jinja/parser_state.h"

namespace ingot::jinja {

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
