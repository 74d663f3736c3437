// SPDX-License-Identifier: Apache-2.0
// Statements: what they print goes to the current output, what they assign to the current scope.
#include <algorithm>

#include "tokenizer/jinja/access.h"
#include "tokenizer/jinja/errors.h"
#include "tokenizer/jinja/interpreter.h"
#include "tokenizer/jinja/iterate.h"
#include "tokenizer/jinja/python_text.h"

namespace ingot::jinja {

Interpreter::Interpreter(const Program& program, Heap& heap,
                         std::optional<std::chrono::local_seconds> now)
    : program_(program),
      heap_(heap),
      now_(now),
      globals_(program.names.size()),
      constants_(program.constants.size()),
      loop_name_(name_id("loop")) {}

NameId Interpreter::name_id(std::string_view name) const {
  const auto it = std::ranges::find(program_.names, name);
  return it == program_.names.end() ? kNoNode : static_cast<NameId>(it - program_.names.begin());
}

void Interpreter::define(std::string_view name, Value value) {
  const NameId id = name_id(name);
  if (id != kNoNode) globals_[id] = value;
}

Result<std::string> Interpreter::run() {
  TextBuilder output(heap_, heap_.budget().output_bytes());
  out_ = &output;
  INGOT_TRY(execute(program_.body));
  return output.take();
}

Interpreter::ScopeEntry::~ScopeEntry() {
  Scope* left = in_.scope_;
  in_.scope_ = outer_;
  if (left != nullptr && !left->is_captured) in_.spare_scopes_.push_back(left);
}

Status Interpreter::ScopeEntry::renew() {
  Scope* scope = in_.scope_;
  scope->size = 0;
  if (!scope->is_captured) return Status::ok();
  INGOT_TRY(in_.scope_, in_.new_scope(scope->parent));
  return Status::ok();
}

Result<Scope*> Interpreter::new_scope(Scope* parent) {
  Scope* scope = nullptr;
  if (spare_scopes_.empty()) {
    INGOT_TRY(scope, heap_.create(Scope{}));
  } else {
    scope = spare_scopes_.back();
    spare_scopes_.pop_back();
  }
  scope->parent = parent;
  scope->size = 0;
  return scope;
}

void Interpreter::capture_scopes() {
  for (Scope* scope = scope_; scope != nullptr && !scope->is_captured; scope = scope->parent) {
    scope->is_captured = true;
  }
}

Result<Value> Interpreter::look_up(NameId name) {
  for (const Scope* scope = scope_; scope != nullptr; scope = scope->parent) {
    INGOT_TRY(heap_.budget().step(scope->size / 16));
    for (uint32_t i = 0; i < scope->size; ++i) {
      if (scope->bindings[i].name == name) return scope->bindings[i].value;
    }
  }
  if (!globals_[name].is_absent()) return globals_[name];
  const std::string_view text = program_.names[name];
  if (const Builtin* function = find_function(text))
    return Value::object(Kind::kFunction, function);
  return heap_.undefined(text);
}

Status Interpreter::bind(NameId name, Value value) {
  if (scope_ == nullptr) {
    globals_[name] = value;
    return Status::ok();
  }
  INGOT_TRY(heap_.budget().step(scope_->size / 16));
  for (uint32_t i = 0; i < scope_->size; ++i) {
    if (scope_->bindings[i].name != name) continue;
    scope_->bindings[i].value = value;
    return Status::ok();
  }
  if (scope_->size == scope_->capacity) {
    const uint32_t capacity = std::max<uint32_t>(4, 2 * scope_->capacity);
    INGOT_TRY(const std::span<Binding> larger, heap_.array<Binding>(capacity));
    std::copy_n(scope_->bindings, scope_->size, larger.begin());
    scope_->bindings = larger.data();
    scope_->capacity = capacity;
  }
  scope_->bindings[scope_->size++] = {name, value};
  return Status::ok();
}

Result<Interpreter::Flow> Interpreter::execute(NodeId id) {
  const Node& node = program_.nodes[id];
  line_ = node.line;
  INGOT_TRY(heap_.budget().step());
  const DepthCount count(*this);
  if (depth_ > kMostDepth) {
    return Status::resource_exhausted("the template calls itself too deeply");
  }
  return dispatch_statement(node, id);
}

Result<Interpreter::Flow> Interpreter::dispatch_statement(const Node& node, NodeId id) {
  switch (node.kind) {
    case NodeKind::kText:
      out_->append(program_.constants[node.a].text);
      if (out_->has_failed()) return out_->status();
      return Flow::kNext;
    case NodeKind::kOutput: {
      INGOT_TRY(const Value value, evaluate(node.a));
      write_str(*out_, value);
      if (out_->has_failed()) return out_->status();
      return Flow::kNext;
    }
    case NodeKind::kBody:
      return body(node);
    case NodeKind::kIf:
      return choice(node);
    case NodeKind::kFor:
      return loop(node, id);
    case NodeKind::kSet: {
      INGOT_TRY(const Value value, evaluate(node.b));
      INGOT_TRY(assign(node.a, value));
      return Flow::kNext;
    }
    case NodeKind::kSetBlock:
      INGOT_TRY(set_block(node));
      return Flow::kNext;
    case NodeKind::kFilterBlock:
      INGOT_TRY(filter_block(node));
      return Flow::kNext;
    case NodeKind::kWith:
    case NodeKind::kGeneration:
      return with(node);
    case NodeKind::kMacro: {
      INGOT_TRY(const Value macro, define_macro(id));
      INGOT_TRY(bind(node.a, macro));
      return Flow::kNext;
    }
    case NodeKind::kCallBlock:
      INGOT_TRY(call_block(node));
      return Flow::kNext;
    case NodeKind::kBreak:
      return Flow::kBreak;
    case NodeKind::kContinue:
      return Flow::kContinue;
    default:
      return Status::internal("node {} is no statement", static_cast<int>(node.kind));
  }
}

Result<Interpreter::Flow> Interpreter::body(const Node& node) {
  for (const NodeId id : program_.list(node)) {
    INGOT_TRY(const Flow flow, execute(id));
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::choice(const Node& node) {
  const std::span<const uint32_t> list = program_.list(node);
  for (size_t i = 0; i + 1 < list.size(); i += 2) {
    INGOT_TRY(const Value condition, evaluate(list[i]));
    if (is_true(condition)) return execute(list[i + 1]);
  }
  if (node.b != kNoNode) return execute(node.b);
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::loop(const Node& node, NodeId id) {
  INGOT_TRY(const Value iterable, evaluate(node.b));
  INGOT_TRY(run_loop(node, id, iterable, 0));
  return Flow::kNext;
}

// The items that pass the loop's `if`, which sees the target but not this loop's `loop`.
Result<std::vector<Value>> Interpreter::filtered_items(const Node& node,
                                                       std::span<const Value> items) {
  std::vector<Value> passed;
  INGOT_TRY(Scope * scope, new_scope(scope_));
  ScopeEntry entry(*this, scope);
  for (const Value item : items) {
    INGOT_TRY(entry.renew());
    INGOT_TRY(assign(node.a, item));
    INGOT_TRY(const Value condition, evaluate(node.c));
    if (is_true(condition)) passed.push_back(item);
  }
  return passed;
}

Status Interpreter::run_loop(const Node& node, NodeId id, Value iterable, int64_t depth) {
  INGOT_TRY(std::span<const Value> items, iterate(heap_, iterable));
  if (node.c != kNoNode) {
    INGOT_TRY(const std::vector<Value> passed, filtered_items(node, items));
    INGOT_TRY(const Value kept, heap_.sequence(Kind::kList, passed));
    items = kept.items();
  }
  const std::span<const uint32_t> bodies = program_.list(node);
  const bool is_recursive = node.flag != 0;
  if (is_recursive) capture_scopes();  // loop(...) may come back to this one at any time
  Scope* outer = scope_;
  INGOT_TRY(Scope * scope, new_scope(outer));
  ScopeEntry entry(*this, scope);
  LoopObject unnamed;
  LoopObject* state = &unnamed;
  if (loop_name_ != kNoNode) {  // the body may keep it
    INGOT_TRY(state, heap_.create(LoopObject{}));
  }
  state->items = items;
  state->depth = depth;
  state->node = id;
  state->scope = outer;
  state->is_recursive = is_recursive;
  bool has_completed = false;
  for (; state->index < items.size(); ++state->index) {
    INGOT_TRY(entry.renew());
    if (loop_name_ != kNoNode) INGOT_TRY(bind(loop_name_, Value::object(Kind::kLoop, state)));
    INGOT_TRY(assign(node.a, items[state->index]));
    INGOT_TRY(const Flow flow, execute(bodies[0]));
    if (flow == Flow::kBreak) break;
    if (flow == Flow::kNext) has_completed = true;
  }
  // Jinja's `else` runs where no round reached its end, so also after nothing but `continue`.
  if (has_completed || bodies[1] == kNoNode) return Status::ok();
  INGOT_TRY(entry.renew());
  INGOT_TRY(execute(bodies[1]));
  return Status::ok();
}

Result<Value> Interpreter::captured_and_filtered(const Node& node) {
  Value text;
  {
    INGOT_TRY(Scope * scope, new_scope(scope_));
    const ScopeEntry entry(*this, scope);
    Capture capture(*this);
    INGOT_TRY(execute(node.b));
    INGOT_TRY(text, capture.text.finish());
  }
  for (const NodeId id : program_.list(node)) {
    INGOT_TRY(text, step(text, program_.nodes[id]));
  }
  return text;
}

Status Interpreter::set_block(const Node& node) {
  INGOT_TRY(const Value text, captured_and_filtered(node));
  return assign(node.a, text);
}

Status Interpreter::filter_block(const Node& node) {
  INGOT_TRY(const Value text, captured_and_filtered(node));
  write_str(*out_, text);
  return out_->status();
}

// Values are computed outside, bound inside. A generation block binds nothing.
Result<Interpreter::Flow> Interpreter::with(const Node& node) {
  const std::span<const uint32_t> list = program_.list(node);
  std::vector<Value> values(list.size() / 2);
  for (size_t i = 0; i < values.size(); ++i) {
    INGOT_TRY(values[i], evaluate(list[2 * i + 1]));
  }
  INGOT_TRY(Scope * scope, new_scope(scope_));
  const ScopeEntry entry(*this, scope);
  for (size_t i = 0; i < values.size(); ++i)
    INGOT_TRY(assign(list[2 * i], values[i]));
  return execute(node.b);
}

Result<Value> Interpreter::define_macro(NodeId id) {
  const std::string_view name = program_.names[program_.nodes[id].a];
  capture_scopes();
  INGOT_TRY(MacroObject * macro,
            heap_.create(MacroObject{.node = id, .scope = scope_, .name = name}));
  return Value::object(Kind::kMacro, macro);
}

Status Interpreter::call_block(const Node& node) {
  INGOT_TRY(const Value caller, define_macro(node.b));
  INGOT_TRY(const Value text, path(program_.nodes[node.a], caller));
  write_str(*out_, text);
  return out_->status();
}

Status Interpreter::assign(NodeId target, Value value) {
  const Node& node = program_.nodes[target];
  if (node.kind == NodeKind::kName) return bind(node.a, value);
  if (node.kind == NodeKind::kNamespaceName) {
    INGOT_TRY(const Value names, look_up(node.a));
    if (!names.is(Kind::kNamespace)) {
      return Status::invalid_data("cannot assign attribute on non-namespace object");
    }
    return set_namespace_attribute(heap_, names.names(), program_.names[node.b], value);
  }
  const std::span<const uint32_t> targets = program_.list(node);
  if (!is_iterable(value)) {
    return Status::invalid_data("cannot unpack non-iterable {} object", type_name(value));
  }
  INGOT_TRY(const std::span<const Value> items, iterate(heap_, value));
  if (items.size() != targets.size()) {
    return Status::invalid_data("expected {} values to unpack, got {}", targets.size(),
                                items.size());
  }
  for (size_t i = 0; i < targets.size(); ++i)
    INGOT_TRY(assign(targets[i], items[i]));
  return Status::ok();
}

}  // namespace ingot::jinja
