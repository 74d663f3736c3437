// SPDX-License-Identifier: Apache-2.0
#include "api/tool_json_calls.h"

#include <algorithm>
#include <utility>

#include "api/tool_object.h"
#include "api/tool_text.h"
#include "base/ascii.h"
#include "base/limits.h"

namespace ingot {
namespace {

bool is_call_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-.:/").find(c) != std::string_view::npos;
}

class JsonCallParser final : public ToolParser {
 public:
  JsonCallParser(const JsonCallSyntax& syntax, ToolParserOptions options)
      : syntax_(syntax), text_(std::move(options)) {}

  void push(std::string_view text, std::vector<AnswerPiece>& out) override {
    text_.begin(out);
    for (const char c : text) {
      while (!take(c)) {
      }
    }
    tell_arguments();
  }

  void finish(std::vector<AnswerPiece>& out) override;
  size_t calls() const override { return text_.calls(); }

 private:
  enum class State : uint8_t {
    kText,
    kMark,    // a part of an opening mark
    kOpened,  // after it: a call, a list of calls or a name must follow
    kName,
    kNamed,      // between a name and its arguments
    kNameMark,   // [ARGS] or [CALL_ID] there
    kObject,     // in a call
    kAfter,      // after a call
    kCloseMark,  // a part of the closing mark
    kSilent,     // the one call that was wanted has been told
  };

  // False: look at the character again in the state that it led to.
  bool take(char c);
  bool take_text(char c);
  bool take_mark(char c);
  bool take_opened(char c);
  bool take_name(char c);
  bool take_named(char c);
  bool take_name_mark(char c);
  bool take_object(char c);
  bool take_after(char c);
  bool take_close_mark(char c);

  bool go(State state, bool is_taken) {
    state_ = state;
    return is_taken;
  }
  bool is_opening(char c) const {
    return std::ranges::any_of(syntax_.opens,
                               [c](std::string_view open) { return open.front() == c; });
  }
  bool keep(char c) {
    if (!is_told_) kept_ += c;
    return true;
  }
  bool begin_call();      // false: not one of ours
  void tell_arguments();  // what has come of them
  bool end_call(bool is_taken);
  bool give_up();  // what was kept is text, and so is what follows

  const JsonCallSyntax syntax_;
  ToolText text_;
  State state_ = State::kText;
  std::string mark_;  // what has come of one
  std::string name_;
  std::string kept_;  // of a call that has not been told
  ToolObject object_;
  bool is_in_list_ = false;
  bool is_told_ = false;        // the call has begun
  bool is_after_name_ = false;  // an id may follow
};

bool JsonCallParser::take(char c) {
  switch (state_) {
    case State::kText:
      return take_text(c);
    case State::kMark:
      return take_mark(c);
    case State::kOpened:
      return take_opened(c);
    case State::kName:
      return take_name(c);
    case State::kNamed:
      return take_named(c);
    case State::kNameMark:
      return take_name_mark(c);
    case State::kObject:
      return take_object(c);
    case State::kAfter:
      return take_after(c);
    case State::kCloseMark:
      return take_close_mark(c);
    case State::kSilent:
      return true;
  }
  return true;
}

bool JsonCallParser::take_text(char c) {
  const bool is_fresh = text_.is_fresh();
  if (is_opening(c)) {
    // A mark begins with the same bracket as a list does.
    mark_ = c;
    return go(State::kMark, true);
  }
  if (syntax_.opens_bare && is_fresh && (c == '{' || (c == '[' && syntax_.takes_lists))) {
    kept_.clear();
    return go(State::kOpened, false);
  }
  if (is_fresh && is_blank(c)) {
    text_.blank({&c, 1});
  } else {
    text_.text({&c, 1});
  }
  return true;
}

bool JsonCallParser::take_mark(char c) {
  mark_ += c;
  for (const std::string_view open : syntax_.opens) {
    if (open == mark_) {
      kept_ = std::exchange(mark_, {});
      return go(State::kOpened, true);
    }
    if (open.starts_with(mark_)) return true;
  }
  mark_.pop_back();
  text_.text(std::exchange(mark_, {}));
  return go(State::kText, false);
}

bool JsonCallParser::take_opened(char c) {
  if (is_blank(c)) return keep(c);
  if (c == '{') {
    object_.begin();
    return go(State::kObject, false);
  }
  if (c == '[' && syntax_.takes_lists && !is_in_list_) {
    is_in_list_ = true;
    return keep(c);
  }
  if (syntax_.takes_names && !is_in_list_ && is_call_name_character(c)) {
    name_.clear();
    return go(State::kName, false);
  }
  return give_up();
}

bool JsonCallParser::take_name(char c) {
  if (!is_call_name_character(c)) {
    is_after_name_ = false;
    return go(State::kNamed, false);
  }
  if (name_.size() == limits::kRequestNameBytes) return give_up();
  name_ += c;
  return keep(c);
}

bool JsonCallParser::take_named(char c) {
  if (is_blank(c) || (is_after_name_ && is_call_name_character(c))) return keep(c);
  if (c == '[') {
    mark_ = c;
    keep(c);
    return go(State::kNameMark, true);
  }
  if (c != '{') return give_up();
  object_.begin_arguments(name_);
  return go(State::kObject, false);
}

bool JsonCallParser::take_name_mark(char c) {
  constexpr std::string_view kArguments = "[ARGS]";
  constexpr std::string_view kId = "[CALL_ID]";
  mark_ += c;
  if (!kArguments.starts_with(mark_) && !kId.starts_with(mark_)) {
    mark_.clear();
    return give_up();
  }
  keep(c);
  if (mark_ != kArguments && mark_ != kId) return true;
  is_after_name_ = std::exchange(mark_, {}) == kId;
  return go(State::kNamed, true);
}

bool JsonCallParser::take_object(char c) {
  const ToolObject::Step step = object_.push(c);
  if (step == ToolObject::Step::kBad) {
    // Small models forget the last bracket.
    return object_.is_whole() ? end_call(false) : give_up();
  }
  keep(c);
  if (step == ToolObject::Step::kDone) return end_call(true);
  if (!is_told_ && !text_.options().holds_calls && object_.is_call() && !begin_call()) {
    give_up();
    return true;
  }
  return true;
}

bool JsonCallParser::begin_call() {
  // Where nothing but its name says that an object is a call, the name must be one of ours.
  if (syntax_.opens_bare && !text_.is_known(object_.name())) return false;
  text_.call(object_.name());
  is_told_ = true;
  kept_.clear();
  return true;
}

void JsonCallParser::tell_arguments() {
  if (is_told_ && object_.is_call()) text_.arguments(object_.take_arguments());
}

bool JsonCallParser::end_call(bool is_taken) {
  if (!is_told_ && !begin_call()) {
    give_up();
    return is_taken;
  }
  text_.arguments(object_.take_arguments());
  text_.end_call();
  is_told_ = false;
  if (text_.options().only_first) return go(State::kSilent, true);
  return go(State::kAfter, is_taken);
}

bool JsonCallParser::give_up() {
  tell_arguments();
  is_told_ = false;
  is_in_list_ = false;
  text_.text(std::exchange(kept_, {}));
  return go(State::kText, false);
}

bool JsonCallParser::take_after(char c) {
  if (is_blank(c)) {
    text_.blank({&c, 1});
    return true;
  }
  if (is_in_list_ && (c == ',' || c == ']')) {
    text_.drop_blanks();
    kept_ = c;
    is_in_list_ = c == ',';
    return go(c == ',' ? State::kOpened : State::kAfter, true);
  }
  is_in_list_ = false;
  if (!syntax_.close.empty()) {
    if (c == '}') return true;  // small models also write one too many
    if (c == syntax_.close.front()) {
      mark_ = c;
      return go(State::kCloseMark, true);
    }
    if (c == '{') {
      kept_.clear();
      return go(State::kOpened, false);
    }
  }
  if (syntax_.opens_bare && (c == ';' || c == ',')) {
    text_.blank({&c, 1});
    return true;
  }
  return go(State::kText, false);
}

bool JsonCallParser::take_close_mark(char c) {
  mark_ += c;
  if (syntax_.close == mark_) {
    mark_.clear();
    return go(State::kText, true);
  }
  if (syntax_.close.starts_with(mark_)) return true;
  mark_.pop_back();
  if (mark_.size() == 1 && is_opening(mark_.front())) return go(State::kMark, false);
  text_.text(std::exchange(mark_, {}));
  return go(State::kText, false);
}

void JsonCallParser::finish(std::vector<AnswerPiece>& out) {
  text_.begin(out);
  switch (state_) {
    case State::kMark:
      text_.text(std::exchange(mark_, {}));
      break;
    case State::kOpened:
    case State::kName:
    case State::kNamed:
    case State::kNameMark:
      give_up();
      break;
    case State::kObject:
      if (object_.is_whole()) {
        end_call(true);
      } else {
        give_up();
      }
      break;
    case State::kText:
    case State::kAfter:
    case State::kCloseMark:
    case State::kSilent:
      break;
  }
  state_ = State::kSilent;
  text_.finish();
}

}  // namespace

std::unique_ptr<ToolParser> make_json_call_parser(const JsonCallSyntax& syntax,
                                                  ToolParserOptions options) {
  return std::make_unique<JsonCallParser>(syntax, std::move(options));
}

std::unique_ptr<ToolParser> make_tool_parser(ToolParserOptions options) {
  switch (options.format) {
    case ToolFormat::kLlamaJson:
      return make_llama_json_parser(std::move(options));
    case ToolFormat::kPythonic:
      return make_pythonic_parser(std::move(options));
    case ToolFormat::kMistral:
      return make_mistral_parser(std::move(options));
    case ToolFormat::kNone:
    case ToolFormat::kHermes:
      break;
  }
  return make_hermes_parser(std::move(options));
}

}  // namespace ingot
