// SPDX-License-Identifier: Apache-2.0
// Runs a Program over one conversation. Builtins come back to it for what they cannot do alone:
// calling, attributes, other filters. Every node costs a step and counts towards the depth. One
// thread only.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "tokenizer/jinja/ast.h"
#include "tokenizer/jinja/builtins.h"
#include "tokenizer/jinja/heap.h"
#include "tokenizer/jinja/value.h"

namespace ingot::jinja {

struct Binding {
  NameId name = kNoNode;
  Value value;
};

// The names of one block: a loop's body, a macro's, a `with`. A scope that a macro was defined in
// is kept; any other is used again.
struct Scope {
  Scope* parent = nullptr;  // null: the template itself
  Binding* bindings = nullptr;
  uint32_t size = 0;
  uint32_t capacity = 0;
  bool is_captured = false;
};

class Interpreter {
 public:
  // Evaluations inside one another, macros included. A level takes about 500 bytes of stack, so
  // that all of them fit a thread of 256 KiB with room for what is called last (bombs_test.cc runs
  // on one).
  static constexpr int kMostDepth = 300;

  Interpreter(const Program& program, Heap& heap, std::optional<std::chrono::local_seconds> now);
  // A variable of the template, before it runs. One that the template never names need not be made.
  bool wants(std::string_view name) const { return name_id(name) != kNoNode; }
  void define(std::string_view name, Value value);
  Result<std::string> run();
  uint32_t line() const { return line_; }

  // For builtins.
  Heap& heap() { return heap_; }
  std::optional<std::chrono::local_seconds> now() const { return now_; }
  Result<Value> call(Value callee, const CallArgs& args);
  Result<Value> call_filter(std::string_view name, Value self, const CallArgs& args);
  Result<bool> call_test(std::string_view name, Value self, const CallArgs& args);

 private:
  enum class Flow { kNext, kBreak, kContinue };
  // The arguments of one call, evaluated.
  struct Evaluated {
    std::vector<Value> positional;
    std::vector<Keyword> keywords;
    CallArgs args() const { return {positional, keywords}; }
  };
  // Enters a scope and leaves it again.
  class ScopeEntry {
   public:
    ScopeEntry(Interpreter& in, Scope* scope) : in_(in), outer_(in.scope_) { in_.scope_ = scope; }
    ~ScopeEntry();
    ScopeEntry(const ScopeEntry&) = delete;
    ScopeEntry& operator=(const ScopeEntry&) = delete;
    // A scope as if new, for the next round of a loop.
    Status renew();

   private:
    Interpreter& in_;
    Scope* outer_;
  };
  // Sends output elsewhere for as long as it lives.
  class Capture {
   public:
    explicit Capture(Interpreter& in) : text(in.heap_), in_(in), outer_(in.out_) {
      in_.out_ = &text;
    }
    ~Capture() { in_.out_ = outer_; }
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;
    TextBuilder text;

   private:
    Interpreter& in_;
    TextBuilder* outer_;
  };
  class DepthCount {
   public:
    explicit DepthCount(Interpreter& in, int levels = 1) : in_(in), levels_(levels) {
      in_.depth_ += levels_;
    }
    ~DepthCount() { in_.depth_ -= levels_; }
    DepthCount(const DepthCount&) = delete;
    DepthCount& operator=(const DepthCount&) = delete;

   private:
    Interpreter& in_;
    int levels_;
  };

  // Expressions (evaluate.cc).
  Result<Value> evaluate(NodeId id);
  Result<Value> dispatch(const Node& node);
  Result<Value> constant(const Node& node);
  Result<Value> sequence(const Node& node, Kind kind);
  Result<Value> dict(const Node& node);
  Result<Value> logical(const Node& node);
  Result<Value> negation(const Node& node);
  Result<Value> sign(const Node& node);
  Result<Value> arithmetic(const Node& node);
  Result<Value> concat(const Node& node);
  Result<Value> comparison(const Node& node);
  Result<Value> conditional(const Node& node);
  Result<Value> path(const Node& node, std::optional<Value> caller = std::nullopt);
  Result<Value> step(Value value, const Node& node);
  Result<Value> slice_step(Value value, const Node& node);
  Result<Value> call_step(Value callee, const Node& node, std::optional<Value> caller);
  Result<Value> call_method(Value self, const Builtin& method, const Node& node,
                            std::optional<Value> caller);
  Status arguments(const Node& node, Evaluated& out);
  Status spread_pairs(Value pairs, Evaluated& out);

  // Statements (execute.cc).
  Result<Flow> execute(NodeId id);
  Result<Flow> dispatch_statement(const Node& node, NodeId id);
  Result<Flow> body(const Node& node);
  Result<Flow> choice(const Node& node);
  Result<Flow> loop(const Node& node, NodeId id);
  Status run_loop(const Node& node, NodeId id, Value iterable, int64_t depth);
  Result<std::vector<Value>> filtered_items(const Node& node, std::span<const Value> items);
  Status set_block(const Node& node);
  Status filter_block(const Node& node);
  Result<Value> captured_and_filtered(const Node& node);
  Result<Flow> with(const Node& node);
  Status call_block(const Node& node);
  Result<Value> define_macro(NodeId id);
  Status assign(NodeId target, Value value);

  // Calls (call.cc).
  Result<Value> call_builtin(const Builtin& builtin, Value self, const CallArgs& args);
  Result<Value> call_macro(const MacroObject& macro, const CallArgs& args);
  Status bind_parameters(const Node& node, const CallArgs& args);
  Status bind_special(const Node& node, std::span<const Value> extra,
                      std::span<const Keyword> keywords);
  Result<Value> call_loop(const LoopObject& loop, const CallArgs& args);

  // Names.
  NameId name_id(std::string_view name) const;
  Result<Value> look_up(NameId name);
  Status bind(NameId name, Value value);
  Result<Scope*> new_scope(Scope* parent);
  void capture_scopes();

  const Program& program_;
  Heap& heap_;
  std::optional<std::chrono::local_seconds> now_;
  std::vector<Value> globals_;  // by name
  std::vector<Value> constants_;
  NameId loop_name_;
  std::vector<Scope*> spare_scopes_;
  Scope* scope_ = nullptr;
  TextBuilder* out_ = nullptr;
  uint32_t line_ = 1;
  int depth_ = 0;
};

}  // namespace ingot::jinja
