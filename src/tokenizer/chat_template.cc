// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/chat_template.h"

#include <algorithm>

#include "tokenizer/jinja/from_json.h"
#include "tokenizer/jinja/interpreter.h"
#include "tokenizer/jinja/parser.h"

namespace ingot {
namespace {

// Names a request may not set: what the engine itself provides, what the interpreter gives a
// meaning, and the arguments of apply_chat_template that other engines let a request overwrite.
constexpr std::string_view kReservedNames[] = {
    "messages",
    "tools",
    "documents",
    "add_generation_prompt",
    "bos_token",
    "eos_token",
    "chat_template",
    "tokenize",
    "conversation",
    "tokenizer",
    "return_dict",
    "return_tensors",
    "loop",
    "caller",
    "varargs",
    "kwargs",
    "self",
    "context",
    "environment",
    "continue_final_message",
    "range",
    "namespace",
    "dict",
    "cycler",
    "joiner",
    "lipsum",
    "raise_exception",
    "strftime_now",
};

Status check_kwargs(const Json& kwargs) {
  if (kwargs.is_null()) return Status::ok();
  if (!kwargs.is_object()) return Status::invalid_argument("template kwargs must be an object");
  for (const auto& [name, value] : kwargs.items()) {
    if (std::ranges::find(kReservedNames, name) != std::end(kReservedNames)) {
      return Status::invalid_argument("template kwargs: the name '{}' is reserved", name);
    }
  }
  return Status::ok();
}

Result<jinja::InputSize> measure(const ChatInput& input) {
  jinja::InputSize size;
  for (const Json* json : {&input.messages, &input.tools, &input.documents, &input.kwargs}) {
    INGOT_TRY(jinja::measure(*json, size));
  }
  return size;
}

Status define_variables(jinja::Interpreter& interpreter, const ChatInput& input) {
  jinja::Heap& heap = interpreter.heap();
  const auto define = [&](std::string_view name, const Json& json) -> Status {
    if (!interpreter.wants(name)) return Status::ok();
    INGOT_TRY(const jinja::Value value, jinja::from_json(heap, json));
    interpreter.define(name, value);
    return Status::ok();
  };
  if (input.kwargs.is_object()) {
    for (auto it = input.kwargs.begin(); it != input.kwargs.end(); ++it)
      INGOT_TRY(define(it.key(), it.value()));
  }
  INGOT_TRY(define("messages", input.messages));
  INGOT_TRY(define("tools", input.tools));
  INGOT_TRY(define("documents", input.documents));
  INGOT_TRY(const jinja::Value bos, jinja::from_text(heap, input.bos_token));
  INGOT_TRY(const jinja::Value eos, jinja::from_text(heap, input.eos_token));
  interpreter.define("bos_token", bos);
  interpreter.define("eos_token", eos);
  interpreter.define("add_generation_prompt", jinja::Value::boolean(input.add_generation_prompt));
  return Status::ok();
}

}  // namespace

struct ChatTemplate::Program {
  std::shared_ptr<const jinja::Program> parsed;
};

Result<ChatTemplate> ChatTemplate::parse(std::string source, std::string_view name) {
  Result<std::shared_ptr<const jinja::Program>> parsed = jinja::parse_template(source);
  if (!parsed.is_ok()) return parsed.status().with_context(name);
  ChatTemplate result;
  result.source_ = std::make_shared<const std::string>(std::move(source));
  result.program_ = std::make_shared<const Program>(Program{*std::move(parsed)});
  result.name_ = name;
  return result;
}

Result<std::string> ChatTemplate::render(const ChatInput& input) const {
  INGOT_TRY(check_kwargs(input.kwargs));
  INGOT_TRY(const jinja::InputSize size, measure(input));
  const auto run = [&]() -> Result<std::string> {
    jinja::Heap heap(jinja::Allowance::for_input(size));
    jinja::Interpreter interpreter(*program_->parsed, heap, input.now);
    INGOT_TRY(define_variables(interpreter, input));
    Result<std::string> text = interpreter.run();
    if (text.is_ok() || text.status().code() == StatusCode::kRefused) return text;
    return text.status().with_context(fmt::format("{}: line {}", name_, interpreter.line()));
  };
  // Within its budget a rendering may still find the machine out of memory.
  Result<Result<std::string>> text = catching(StatusCode::kInternal, run);
  if (!text.is_ok()) return text.status();
  return *std::move(text);
}

}  // namespace ingot
