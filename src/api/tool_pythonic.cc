// SPDX-License-Identifier: Apache-2.0
// Llama 3.2 and 4: [f(a=1, b="x"), g()] as the answer, between <|python_start|> and <|python_end|>
// or alone. A call is told when its parenthesis closes: its arguments are Python and must be turned
// into JSON as a whole.
#include <array>
#include <utility>

#include "api/python_literal.h"
#include "api/tool_json_calls.h"
#include "api/tool_text.h"
#include "base/ascii.h"
#include "base/limits.h"

namespace ingot {
namespace {

constexpr std::array<std::string_view, 3> kMarks = {"<|python_start|>", "<|python_tag|>",
                                                    "<|python_end|>"};

bool is_function_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-';
}

class PythonicParser final : public ToolParser {
 public:
  explicit PythonicParser(ToolParserOptions options) : text_(std::move(options)) {}

  void push(std::string_view text, std::vector<AnswerPiece>& out) override {
    text_.begin(out);
    for (const char c : text) {
      while (!take(c)) {
      }
    }
  }

  void finish(std::vector<AnswerPiece>& out) override {
    text_.begin(out);
    if (state_ == State::kMark) text_.text(mark_);
    if (state_ == State::kListed || state_ == State::kName || state_ == State::kArguments)
      give_up();
    state_ = State::kSilent;
    text_.finish();
  }

  size_t calls() const override { return text_.calls(); }

 private:
  enum class State : uint8_t { kText, kMark, kListed, kName, kArguments, kAfter, kSilent };

  // False: look at the character again in the state that it led to.
  bool take(char c) {
    switch (state_) {
      case State::kText:
        return take_text(c);
      case State::kMark:
        return take_mark(c);
      case State::kListed:
        kept_ += c;
        if (is_blank(c)) return true;
        kept_.pop_back();
        if (!is_function_name_character(c)) return give_up();
        name_.clear();
        state_ = State::kName;
        return false;
      case State::kName:
        return take_name(c);
      case State::kArguments:
        return take_argument(c);
      case State::kAfter:
        return take_after(c);
      case State::kSilent:
        return true;
    }
    return true;
  }

  bool take_text(char c) {
    const bool is_fresh = text_.is_fresh();
    if (is_fresh && c == '<') {
      mark_ = c;
      state_ = State::kMark;
    } else if (is_fresh && c == '[') {
      kept_ = c;
      state_ = State::kListed;
    } else if (is_fresh && is_blank(c)) {
      text_.blank({&c, 1});
    } else {
      text_.text({&c, 1});
    }
    return true;
  }

  // Marks around a list say nothing that the list does not.
  bool take_mark(char c) {
    mark_ += c;
    for (const std::string_view mark : kMarks) {
      if (mark == mark_) {
        if (text_.calls() == 0) text_.blank(mark_);
        mark_.clear();
        state_ = State::kText;
        return true;
      }
      if (mark.starts_with(mark_)) return true;
    }
    mark_.pop_back();
    text_.text(std::exchange(mark_, {}));
    state_ = State::kText;
    return false;
  }

  bool take_name(char c) {
    if (is_function_name_character(c) && name_.size() < limits::kRequestNameBytes) {
      name_ += c;
      kept_ += c;
      return true;
    }
    if (c != '(' || !text_.is_known(name_)) return give_up();
    kept_ += c;
    begin_ = kept_.size();
    depth_ = 1;
    quote_ = 0;
    state_ = State::kArguments;
    return true;
  }

  bool take_argument(char c) {
    kept_ += c;
    if (quote_ != 0) {
      if (is_escaped_) {
        is_escaped_ = false;
      } else if (c == '\\') {
        is_escaped_ = true;
      } else if (c == quote_) {
        quote_ = 0;
      }
      return true;
    }
    if (c == '"' || c == '\'') quote_ = c;
    if (c == '(' || c == '[' || c == '{') ++depth_;
    if (c == ')' || c == ']' || c == '}') --depth_;
    return depth_ > 0 || end_call();
  }

  bool end_call() {
    const std::string_view inside(kept_.data() + begin_, kept_.size() - begin_ - 1);
    std::optional<std::string> arguments = python_arguments(inside);
    if (kept_.back() != ')' || !arguments) {
      give_up();
      return true;
    }
    kept_.clear();
    text_.call(name_);
    text_.arguments(*std::move(arguments));
    text_.end_call();
    state_ = text_.options().only_first ? State::kSilent : State::kAfter;
    return true;
  }

  bool take_after(char c) {
    if (is_blank(c)) {
      text_.blank({&c, 1});
      return true;
    }
    if (c == ',') {
      kept_ = c;
      state_ = State::kListed;
      return true;
    }
    if (c == ']') text_.drop_blanks();
    state_ = State::kText;
    return c == ']';
  }

  bool give_up() {
    text_.text(std::exchange(kept_, {}));
    state_ = State::kText;
    return false;
  }

  ToolText text_;
  State state_ = State::kText;
  std::string mark_;
  std::string name_;
  std::string kept_;  // of a list since its last call
  size_t begin_ = 0;  // of the arguments in it
  size_t depth_ = 0;  // open brackets
  char quote_ = 0;    // of the string the text is in; 0: none
  bool is_escaped_ = false;
};

}  // namespace

std::unique_ptr<ToolParser> make_pythonic_parser(ToolParserOptions options) {
  return std::make_unique<PythonicParser>(std::move(options));
}

}  // namespace ingot
