// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/utf8.h"
#include "tokenizer/jinja/parser.h"
#include "tokenizer/jinja/parser_state.h"

namespace ingot::jinja {
namespace {

// Real templates have a few thousand; what is past this only costs memory.
constexpr size_t kMostNodes = 65'536;

// Tags of Jinja that need other files, or that chat templates are rendered without.
constexpr std::string_view kRefusedTags[] = {"import",     "from", "include", "extends", "block",
                                             "autoescape", "do",   "trans",   "debug"};

}  // namespace

Result<std::shared_ptr<const Program>> parse_template(std::string_view source) {
  if (source.size() > limits::kTemplateBytes) {
    return Status::resource_exhausted("the template has {} bytes; at most {} are read",
                                      source.size(), limits::kTemplateBytes);
  }
  if (!utf8::is_valid(source)) return Status::invalid_data("the template is not valid UTF-8");
  auto program = std::make_shared<Program>();
  program->source = normalize_source(source);
  INGOT_TRY(Parser(*program).parse());
  return std::shared_ptr<const Program>(std::move(program));
}

Status Parser::Nesting::check() const {
  if (parser_.depth_ > limits::kTemplateDepth) {
    return Status::resource_exhausted("line {}: the template is nested deeper than {}",
                                      parser_.current_.line, limits::kTemplateDepth);
  }
  if (parser_.program_.nodes.size() > kMostNodes) {
    return Status::resource_exhausted("line {}: the template has too many parts",
                                      parser_.current_.line);
  }
  return Status::ok();
}

Status Parser::parse() {
  INGOT_TRY(advance());
  INGOT_TRY(program_.body, body({}));
  return Status::ok();
}

Status Parser::advance() {
  if (has_ahead_) {
    current_ = ahead_;
    has_ahead_ = false;
    return Status::ok();
  }
  INGOT_TRY(current_, lexer_.next());
  return Status::ok();
}

Result<Token> Parser::peek() {
  if (!has_ahead_) {
    INGOT_TRY(ahead_, lexer_.next());
    has_ahead_ = true;
  }
  return ahead_;
}

Result<bool> Parser::skip_if(TokenType type) {
  if (!is(type)) return false;
  INGOT_TRY(advance());
  return true;
}

Result<bool> Parser::skip_if_name(std::string_view name) {
  if (!is_name(name)) return false;
  INGOT_TRY(advance());
  return true;
}

Result<Token> Parser::expect(TokenType type, std::string_view what) {
  if (!is(type)) {
    return error("expected {}, found '{}'", what,
                 is(TokenType::kEnd) ? "the end" : current_.text.substr(0, 40));
  }
  const Token token = current_;
  INGOT_TRY(advance());
  return token;
}

Status Parser::expect_name(std::string_view name) {
  if (!is_name(name)) return error("expected '{}'", name);
  return advance();
}

Status Parser::unexpected() const {
  if (is(TokenType::kEnd)) return error("the template ends inside a tag");
  return error("unexpected '{}'", current_.text.substr(0, 40));
}

NodeId Parser::add(Node node, std::span<const uint32_t> list) {
  node.list_begin = static_cast<uint32_t>(program_.lists.size());
  node.list_size = static_cast<uint32_t>(list.size());
  program_.lists.insert(program_.lists.end(), list.begin(), list.end());
  program_.nodes.push_back(node);
  return static_cast<NodeId>(program_.nodes.size() - 1);
}

NameId Parser::intern(std::string_view name) {
  const auto [it, is_new] = name_ids_.try_emplace(name, static_cast<NameId>(program_.names.size()));
  if (is_new) program_.names.push_back(name);
  return it->second;
}

NodeId Parser::constant(Value value, uint32_t line) {
  program_.constants.push_back({.scalar = value, .text = {}});
  return add({.kind = NodeKind::kConstant,
              .line = line,
              .a = static_cast<uint32_t>(program_.constants.size() - 1)});
}

NodeId Parser::text_constant(std::string_view text, NodeKind kind, uint32_t line) {
  program_.constants.push_back({.scalar = {}, .text = text});
  return add(
      {.kind = kind, .line = line, .a = static_cast<uint32_t>(program_.constants.size() - 1)});
}

// Statements up to the tag that ends them, which is left as the current token; to the end of the
// template where `ends` is empty.
Result<NodeId> Parser::body(std::initializer_list<std::string_view> ends) {
  const Nesting nesting(*this);
  const Node whole = node(NodeKind::kBody);
  std::vector<uint32_t> statements;
  while (true) {
    INGOT_TRY(nesting.check());
    if (is(TokenType::kData)) {
      if (!current_.text.empty()) {
        statements.push_back(text_constant(current_.text, NodeKind::kText, current_.line));
      }
      INGOT_TRY(advance());
    } else if (is(TokenType::kVariableBegin)) {
      Node output = node(NodeKind::kOutput);
      INGOT_TRY(advance());
      INGOT_TRY(output.a, tuple({}));
      INGOT_TRY(expect(TokenType::kVariableEnd, "}}"));
      statements.push_back(add(output));
    } else if (is(TokenType::kBlockBegin)) {
      INGOT_TRY(advance());
      if (std::ranges::any_of(ends, [this](std::string_view end) { return is_name(end); })) {
        return add(whole, statements);
      }
      INGOT_TRY(const NodeId one, statement());
      statements.push_back(one);
      INGOT_TRY(expect(TokenType::kBlockEnd, "%}"));
    } else if (is(TokenType::kEnd) && ends.size() == 0) {
      return add(whole, statements);
    } else {
      return error("the template ends where '{}' was expected",
                   ends.size() == 0 ? "%}" : *ends.begin());
    }
  }
}

// The rest of an opening tag, then a body.
Result<NodeId> Parser::block(std::initializer_list<std::string_view> ends) {
  INGOT_TRY(skip_if(TokenType::kColon));
  INGOT_TRY(expect(TokenType::kBlockEnd, "%}"));
  return body(ends);
}

Result<NodeId> Parser::statement() {
  if (!is(TokenType::kName)) return error("a tag begins with its name");
  const std::string_view name = current_.text;
  if (name == "for") return for_statement();
  if (name == "if") return if_statement();
  if (name == "set") return set_statement();
  if (name == "macro") return macro_statement();
  if (name == "call") return call_statement();
  if (name == "filter") return filter_statement();
  if (name == "with") return with_statement();
  if (name == "generation") return generation_statement();
  if (name == "print") return print_statement();
  if (name == "break") return loop_control(NodeKind::kBreak);
  if (name == "continue") return loop_control(NodeKind::kContinue);
  if (std::ranges::find(kRefusedTags, name) != std::end(kRefusedTags)) {
    return error("the tag '{}' is not supported in chat templates", name);
  }
  return error("unknown tag '{}'", name.substr(0, 40));
}

Status Parser::check_target(NodeId id) const {
  const Node& node = program_.nodes[id];
  if (node.kind == NodeKind::kName || node.kind == NodeKind::kNamespaceName) return Status::ok();
  if (node.kind != NodeKind::kTuple) return error("cannot assign to this");
  for (const uint32_t item : program_.list(node))
    INGOT_TRY(check_target(item));
  return Status::ok();
}

Result<NodeId> Parser::target(std::string_view end_name, bool allows_namespace) {
  INGOT_TRY(const NodeId id,
            tuple({.is_target = true, .allows_namespace = allows_namespace, .end_name = end_name}));
  INGOT_TRY(check_target(id));
  return id;
}

Result<NodeId> Parser::for_statement() {
  Node loop = node(NodeKind::kFor);
  INGOT_TRY(advance());
  INGOT_TRY(loop.a, target("in", false));
  INGOT_TRY(expect_name("in"));
  INGOT_TRY(loop.b, tuple({.allows_conditional = false, .end_name = "recursive"}));
  INGOT_TRY(const bool has_filter, skip_if_name("if"));
  if (has_filter) {
    INGOT_TRY(loop.c, expression());
  }
  INGOT_TRY(const bool is_recursive, skip_if_name("recursive"));
  loop.flag = is_recursive ? 1 : 0;
  ++loops_;
  INGOT_TRY(const NodeId repeated, block({"endfor", "else"}));
  --loops_;
  NodeId otherwise = kNoNode;
  INGOT_TRY(const bool has_else, skip_if_name("else"));
  if (has_else) {
    INGOT_TRY(otherwise, block({"endfor"}));
  }
  INGOT_TRY(advance());
  const uint32_t bodies[] = {repeated, otherwise};
  return add(loop, bodies);
}

Result<NodeId> Parser::if_statement() {
  Node choice = node(NodeKind::kIf);
  std::vector<uint32_t> branches;
  do {
    INGOT_TRY(advance());
    INGOT_TRY(const NodeId condition, tuple({.allows_conditional = false}));
    INGOT_TRY(const NodeId branch, block({"elif", "else", "endif"}));
    branches.insert(branches.end(), {condition, branch});
  } while (is_name("elif"));
  INGOT_TRY(const bool has_else, skip_if_name("else"));
  if (has_else) {
    INGOT_TRY(choice.b, block({"endif"}));
  }
  INGOT_TRY(advance());
  return add(choice, branches);
}

Result<NodeId> Parser::set_statement() {
  Node assignment = node(NodeKind::kSet);
  INGOT_TRY(advance());
  INGOT_TRY(assignment.a, target({}, true));
  INGOT_TRY(const bool has_value, skip_if(TokenType::kAssign));
  if (has_value) {
    INGOT_TRY(assignment.b, tuple({}));
    return add(assignment);
  }
  assignment.kind = NodeKind::kSetBlock;
  std::vector<uint32_t> filters;
  while (is(TokenType::kPipe)) {
    INGOT_TRY(advance());
    INGOT_TRY(const NodeId filter, filter_step());
    filters.push_back(filter);
  }
  const int outer_loops = std::exchange(loops_, 0);
  INGOT_TRY(assignment.b, block({"endset"}));
  loops_ = outer_loops;
  INGOT_TRY(advance());
  return add(assignment, filters);
}

Result<NodeId> Parser::with_statement() {
  Node scope = node(NodeKind::kWith);
  std::vector<uint32_t> pairs;
  INGOT_TRY(advance());
  while (!is(TokenType::kBlockEnd)) {
    if (!pairs.empty()) INGOT_TRY(expect(TokenType::kComma, ","));
    INGOT_TRY(const NodeId bound, target({}, false));
    INGOT_TRY(expect(TokenType::kAssign, "="));
    INGOT_TRY(const NodeId value, expression());
    pairs.insert(pairs.end(), {bound, value});
  }
  INGOT_TRY(scope.b, block({"endwith"}));
  INGOT_TRY(advance());
  return add(scope, pairs);
}

Status Parser::signature(std::vector<uint32_t>& parameters) {
  INGOT_TRY(expect(TokenType::kLeftParen, "("));
  bool has_default = false;
  while (!is(TokenType::kRightParen)) {
    if (!parameters.empty()) INGOT_TRY(expect(TokenType::kComma, ","));
    INGOT_TRY(const Token name, expect(TokenType::kName, "a name"));
    NodeId standard = kNoNode;
    INGOT_TRY(const bool is_assigned, skip_if(TokenType::kAssign));
    if (is_assigned) {
      INGOT_TRY(standard, expression());
      has_default = true;
    } else if (has_default) {
      return error("a parameter without a default follows one with a default");
    }
    parameters.insert(parameters.end(), {intern(name.text), standard});
  }
  return advance();
}

Result<NodeId> Parser::macro_body(Node node, std::vector<uint32_t> parameters,
                                  std::string_view end) {
  // A macro's body is a function of its own: `break` does not reach the loop around it.
  const int outer_loops = std::exchange(loops_, 0);
  macro_uses_.push_back(0);
  INGOT_TRY(node.b, block({end}));
  node.flag = macro_uses_.back();
  macro_uses_.pop_back();
  loops_ = outer_loops;
  INGOT_TRY(advance());
  return add(node, parameters);
}

Result<NodeId> Parser::macro_statement() {
  Node macro = node(NodeKind::kMacro);
  INGOT_TRY(advance());
  INGOT_TRY(const Token name, expect(TokenType::kName, "a name"));
  macro.a = intern(name.text);
  std::vector<uint32_t> parameters;
  INGOT_TRY(signature(parameters));
  return macro_body(macro, std::move(parameters), "endmacro");
}

Result<NodeId> Parser::call_statement() {
  Node call = node(NodeKind::kCallBlock);
  Node caller = node(NodeKind::kMacro);
  caller.a = intern("caller");
  INGOT_TRY(advance());
  std::vector<uint32_t> parameters;
  if (is(TokenType::kLeftParen)) INGOT_TRY(signature(parameters));
  INGOT_TRY(call.a, expression());
  const Node& path = program_.nodes[call.a];
  if (path.kind != NodeKind::kPath ||
      program_.nodes[program_.list(path).back()].kind != NodeKind::kCall) {
    return error("'call' needs a call");
  }
  INGOT_TRY(call.b, macro_body(caller, std::move(parameters), "endcall"));
  return add(call);
}

Result<NodeId> Parser::filter_statement() {
  Node filtered = node(NodeKind::kFilterBlock);
  std::vector<uint32_t> filters;
  do {
    INGOT_TRY(advance());  // the word `filter`, then each bar
    INGOT_TRY(const NodeId filter, filter_step());
    filters.push_back(filter);
  } while (is(TokenType::kPipe));
  const int outer_loops = std::exchange(loops_, 0);
  INGOT_TRY(filtered.b, block({"endfilter"}));
  loops_ = outer_loops;
  INGOT_TRY(advance());
  return add(filtered, filters);
}

// Marks what the model itself says, for training; rendering prints it, in a scope of its own.
Result<NodeId> Parser::generation_statement() {
  Node marked = node(NodeKind::kGeneration);
  const int outer_loops = std::exchange(loops_, 0);
  INGOT_TRY(advance());
  INGOT_TRY(marked.b, block({"endgeneration"}));
  INGOT_TRY(advance());
  loops_ = outer_loops;
  return add(marked);
}

Result<NodeId> Parser::print_statement() {
  const Node all = node(NodeKind::kBody);
  std::vector<uint32_t> outputs;
  INGOT_TRY(advance());
  while (!is(TokenType::kBlockEnd)) {
    if (!outputs.empty()) INGOT_TRY(expect(TokenType::kComma, ","));
    Node output = node(NodeKind::kOutput);
    INGOT_TRY(output.a, expression());
    outputs.push_back(add(output));
  }
  return add(all, outputs);
}

Result<NodeId> Parser::loop_control(NodeKind kind) {
  if (loops_ == 0) return error("'{}' outside a loop", current_.text);
  const Node control = node(kind);
  INGOT_TRY(advance());
  return add(control);
}

}  // namespace ingot::jinja
