// SPDX-License-Identifier: Apache-2.0
// Calling: macros, functions, methods, filters and tests. Each call counts towards the depth, so
// that neither a macro nor `map('map', 'map', ...)` can exhaust the stack.
#include <algorithm>

#include "tokenizer/jinja/dict.h"
#include "tokenizer/jinja/errors.h"
#include "tokenizer/jinja/interpreter.h"

namespace ingot::jinja {

Result<Value> Interpreter::call(Value callee, const CallArgs& args) {
  const DepthCount count(*this, 2);  // its frames are large
  if (depth_ > kMostDepth)
    return Status::resource_exhausted("the template calls itself too deeply");
  switch (callee.kind()) {
    case Kind::kMacro:
      return call_macro(callee.macro(), args);
    case Kind::kFunction:
      return call_builtin(callee.function(), Value(), args);
    case Kind::kMethod:
      return call_builtin(*callee.method().method, callee.method().self, args);
    case Kind::kLoop:
      return call_loop(callee.loop(), args);
    case Kind::kJoiner: {
      JoinerObject& joiner = callee.joiner();
      if (joiner.is_used) return joiner.separator;
      joiner.is_used = true;
      return heap_.view("");
    }
    default:
      INGOT_TRY(check_defined(heap_, callee));
      return Status::invalid_data("'{}' object is not callable", type_name(callee));
  }
}

Result<Value> Interpreter::call_builtin(const Builtin& builtin, Value self, const CallArgs& args) {
  INGOT_TRY(const Arguments bound, bind_arguments(builtin, args));
  return builtin.call(*this, self, bound);
}

Result<Value> Interpreter::call_filter(std::string_view name, Value self, const CallArgs& args) {
  const DepthCount count(*this, 2);
  if (depth_ > kMostDepth)
    return Status::resource_exhausted("the template calls itself too deeply");
  const Builtin* filter = find_filter(name);
  if (filter == nullptr) return Status::invalid_data("no filter named '{}'", name.substr(0, 100));
  return call_builtin(*filter, self, args);
}

Result<bool> Interpreter::call_test(std::string_view name, Value self, const CallArgs& args) {
  const Builtin* test = find_test(name);
  if (test == nullptr) return Status::invalid_data("no test named '{}'", name.substr(0, 100));
  INGOT_TRY(const Value result, call_builtin(*test, self, args));
  return is_true(result);
}

Result<Value> Interpreter::call_macro(const MacroObject& macro, const CallArgs& args) {
  const Node& node = program_.nodes[macro.node];
  INGOT_TRY(Scope * scope, new_scope(macro.scope));
  const ScopeEntry entry(*this, scope);
  INGOT_TRY(bind_parameters(node, args));
  Capture capture(*this);
  INGOT_TRY(execute(node.b));
  return capture.text.finish();
}

Status Interpreter::bind_parameters(const Node& node, const CallArgs& args) {
  const std::span<const uint32_t> list = program_.list(node);
  const size_t parameters = list.size() / 2;
  const size_t given = std::min(parameters, args.positional.size());
  std::vector<Keyword> keywords(args.keywords.begin(), args.keywords.end());
  for (size_t i = 0; i < parameters; ++i) {
    const NameId name = list[2 * i];
    Value value;
    if (i < given) {
      value = args.positional[i];
    } else {
      const auto it = std::ranges::find(keywords, program_.names[name], &Keyword::name);
      if (it != keywords.end()) {
        value = it->value;
        keywords.erase(it);
      } else if (list[2 * i + 1] != kNoNode) {
        INGOT_TRY(value, evaluate(list[2 * i + 1]));
      } else {
        INGOT_TRY(value, heap_.undefined(program_.names[name]));
      }
    }
    INGOT_TRY(bind(name, value));
  }
  return bind_special(node, args.positional.subspan(given), keywords);
}

// caller, kwargs and varargs take what no parameter took; a macro that does not read them refuses
// it.
Status Interpreter::bind_special(const Node& node, std::span<const Value> extra,
                                 std::span<const Keyword> keywords) {
  const std::string_view macro_name = program_.names[node.a];
  if ((node.flag & kUsesCaller) != 0) {
    const auto it = std::ranges::find(keywords, "caller", &Keyword::name);
    Value caller;
    if (it != keywords.end()) {
      caller = it->value;
    } else {
      INGOT_TRY(caller, heap_.undefined_because("No caller defined"));
    }
    INGOT_TRY(bind(name_id("caller"), caller));
  }
  const auto is_left = [&](const Keyword& keyword) {
    return (node.flag & kUsesCaller) == 0 || keyword.name != "caller";
  };
  if ((node.flag & kUsesKwargs) != 0) {
    DictBuilder rest(heap_);
    for (const Keyword& keyword : keywords) {
      if (!is_left(keyword)) continue;
      INGOT_TRY(const Value key, heap_.view(keyword.name));
      INGOT_TRY(rest.add(key, keyword.value));
    }
    INGOT_TRY(const Value dict, rest.finish());
    INGOT_TRY(bind(name_id("kwargs"), dict));
  } else if (const auto it = std::ranges::find_if(keywords, is_left); it != keywords.end()) {
    return Status::invalid_data("macro '{}' takes no keyword argument '{}'", macro_name,
                                it->name.substr(0, 100));
  }
  if ((node.flag & kUsesVarargs) != 0) {
    INGOT_TRY(const Value rest, heap_.sequence(Kind::kTuple, extra));
    return bind(name_id("varargs"), rest);
  }
  if (!extra.empty()) {
    return Status::invalid_data("macro '{}' takes not more than {} argument(s)", macro_name,
                                node.list_size / 2);
  }
  return Status::ok();
}

Result<Value> Interpreter::call_loop(const LoopObject& loop, const CallArgs& args) {
  if (!loop.is_recursive) {
    return Status::invalid_data(
        "The loop must have the 'recursive' marker to be called recursively.");
  }
  if (args.positional.size() != 1 || !args.keywords.empty()) {
    return Status::invalid_data("loop() takes one iterable");
  }
  // In the scope around the loop. That one is captured, so the entry does not give it away.
  const ScopeEntry entry(*this, loop.scope);
  Capture capture(*this);
  INGOT_TRY(run_loop(program_.nodes[loop.node], loop.node, args.positional[0], loop.depth + 1));
  return capture.text.finish();
}

}  // namespace ingot::jinja
