// SPDX-License-Identifier: Apache-2.0
// The parser's inside, shared by parse_statement.cc, parse_expression.cc and parse_path.cc.
#pragma once

#include <initializer_list>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/limits.h"
#include "base/status.h"
#include "tokenizer/jinja/ast.h"
#include "tokenizer/jinja/lexer.h"

namespace ingot::jinja {

class Parser {
 public:
  explicit Parser(Program& program) : program_(program), lexer_(program.source) {}
  Status parse();

 private:
  // Counts nesting for as long as it lives.
  class Nesting {
   public:
    explicit Nesting(Parser& parser) : parser_(parser) { ++parser_.depth_; }
    ~Nesting() { --parser_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    Status check() const;

   private:
    Parser& parser_;
  };
  // Which commas and ends an expression list may have.
  struct TupleRules {
    bool is_target = false;         // only names and literals
    bool allows_namespace = false;  // ns.name as a target
    bool allows_conditional = true;
    bool allows_empty = false;       // ()
    std::string_view end_name = {};  // a name that ends it, as `in` does in `for`
  };

  // Tokens.
  Status advance();
  Result<Token> peek();
  bool is(TokenType type) const { return current_.type == type; }
  bool is_name(std::string_view name) const {
    return current_.type == TokenType::kName && current_.text == name;
  }
  Result<bool> skip_if(TokenType type);
  Result<bool> skip_if_name(std::string_view name);
  Result<Token> expect(TokenType type, std::string_view what);
  Status expect_name(std::string_view name);
  Status unexpected() const;
  template <class... Args>
  Status error(fmt::format_string<Args...> format, Args&&... args) const {
    return Status::invalid_data("line {}: {}", current_.line,
                                fmt::format(format, std::forward<Args>(args)...));
  }

  // Nodes.
  NodeId add(Node node, std::span<const uint32_t> list = {});
  Node node(NodeKind kind) const { return Node{.kind = kind, .line = current_.line}; }
  NameId intern(std::string_view name);
  NodeId constant(Value value, uint32_t line);
  NodeId text_constant(std::string_view text, NodeKind kind, uint32_t line);

  // Expressions (parse_expression.cc).
  Result<NodeId> expression();
  Result<NodeId> operators(int lowest);
  Result<NodeId> operator_chain(NodeId first, int level);
  Result<NodeId> unary(bool with_filters);
  Result<NodeId> primary(bool allows_namespace);
  Result<NodeId> number();
  Result<NodeId> string();
  Result<NodeId> list_literal();
  Result<NodeId> dict_literal();
  Result<NodeId> tuple(const TupleRules& rules);
  Result<NodeId> tuple_item(const TupleRules& rules);
  // -1 where the current token is no binary operator.
  Result<int> operator_level();

  // What follows a value (parse_path.cc).
  Result<NodeId> path(NodeId begin, bool with_filters);
  Status postfix_steps(std::vector<uint32_t>& steps);
  Result<NodeId> attribute_step();
  Result<NodeId> subscript_step();
  Result<NodeId> subscript();
  Result<NodeId> call_step();
  Result<NodeId> filter_step();
  Result<NodeId> test_step();
  Status arguments(std::vector<uint32_t>& list);
  Result<std::string_view> dotted_name();

  // Statements (parse_statement.cc).
  Result<NodeId> body(std::initializer_list<std::string_view> ends);
  Result<NodeId> block(std::initializer_list<std::string_view> ends);
  Result<NodeId> statement();
  Result<NodeId> for_statement();
  Result<NodeId> if_statement();
  Result<NodeId> set_statement();
  Result<NodeId> with_statement();
  Result<NodeId> macro_statement();
  Result<NodeId> call_statement();
  Result<NodeId> filter_statement();
  Result<NodeId> generation_statement();
  Result<NodeId> print_statement();
  Result<NodeId> loop_control(NodeKind kind);
  Result<NodeId> target(std::string_view end_name, bool allows_namespace);
  Status check_target(NodeId id) const;
  Status signature(std::vector<uint32_t>& parameters);
  Result<NodeId> macro_body(Node node, std::vector<uint32_t> parameters, std::string_view end);

  Program& program_;
  Lexer lexer_;
  Token current_;
  Token ahead_;
  bool has_ahead_ = false;
  int depth_ = 0;
  int loops_ = 0;                    // around the current place, inside the innermost macro
  std::vector<uint8_t> macro_uses_;  // of the macros around the current place, outermost first
  std::unordered_map<std::string_view, NameId> name_ids_;
};

}  // namespace ingot::jinja
