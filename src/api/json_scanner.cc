// SPDX-License-Identifier: Apache-2.0
#include "api/json_scanner.h"

#include "base/ascii.h"
#include "base/limits.h"

namespace ingot {
namespace {

bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

}  // namespace

void JsonScanner::reset() {
  state_ = State::kValue;
  stack_.clear();
  is_key_ = false;
}

JsonScanner::Step JsonScanner::after_value() {
  state_ = State::kAfter;
  return stack_.empty() ? Step::kDone : Step::kMore;
}

JsonScanner::Step JsonScanner::open(char c) {
  if (stack_.size() == limits::kJsonDepth) return Step::kBad;
  stack_ += c;
  state_ = c == '{' ? State::kFirstKey : State::kFirstValue;
  return Step::kMore;
}

JsonScanner::Step JsonScanner::close(char c) {
  if (stack_.empty() || stack_.back() != (c == '}' ? '{' : '[')) return Step::kBad;
  stack_.pop_back();
  return after_value();
}

JsonScanner::Step JsonScanner::begin_value(char c) {
  const auto go = [&](State state) {
    state_ = state;
    return Step::kMore;
  };
  switch (c) {
    case '{':
    case '[':
      return open(c);
    case '"':
      is_key_ = false;
      return go(State::kString);
    case '-':
      return go(State::kMinus);
    case '0':
      return go(State::kZero);
    case 't':
      word_ = "rue";
      return go(State::kWord);
    case 'f':
      word_ = "alse";
      return go(State::kWord);
    case 'n':
      word_ = "ull";
      return go(State::kWord);
    default:
      return is_digit(c) ? go(State::kDigits) : Step::kBad;
  }
}

JsonScanner::Step JsonScanner::in_string(char c) {
  if (state_ == State::kHex) {
    if (!is_hex(c)) return Step::kBad;
    if (--hex_left_ == 0) state_ = State::kString;
    return Step::kMore;
  }
  if (state_ == State::kEscape) {
    if (c == 'u') {
      hex_left_ = 4;
      state_ = State::kHex;
      return Step::kMore;
    }
    state_ = State::kString;
    return std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos ? Step::kMore
                                                                            : Step::kBad;
  }
  if (c == '\\') state_ = State::kEscape;
  if (c != '"') return Step::kMore;
  if (!is_key_) return after_value();
  state_ = State::kColon;
  return Step::kMore;
}

JsonScanner::Step JsonScanner::in_number(char c) {
  const auto go = [&](State state) {
    state_ = state;
    return Step::kMore;
  };
  bool may_end = false;
  switch (state_) {
    case State::kMinus:
      if (is_digit(c)) return go(c == '0' ? State::kZero : State::kDigits);
      break;
    case State::kZero:
    case State::kDigits:
      if (is_digit(c) && state_ == State::kDigits) return Step::kMore;
      if (c == '.') return go(State::kPoint);
      if (c == 'e' || c == 'E') return go(State::kExponent);
      may_end = !is_digit(c);
      break;
    case State::kPoint:
      if (is_digit(c)) return go(State::kFraction);
      break;
    case State::kFraction:
      if (is_digit(c)) return Step::kMore;
      if (c == 'e' || c == 'E') return go(State::kExponent);
      may_end = true;
      break;
    case State::kExponent:
      if (c == '+' || c == '-') return go(State::kExponentSign);
      [[fallthrough]];
    case State::kExponentSign:
      if (is_digit(c)) return go(State::kExponentDigits);
      break;
    default:
      if (is_digit(c)) return Step::kMore;
      may_end = true;
  }
  if (!may_end) return Step::kBad;
  if (after_value() == Step::kDone) return Step::kDoneBefore;
  return between(c);
}

JsonScanner::Step JsonScanner::between(char c) {
  if (is_blank(c)) return Step::kMore;
  switch (state_) {
    case State::kFirstKey:
    case State::kKey:
      if (c == '}' && state_ == State::kFirstKey) return close(c);
      if (c != '"') return Step::kBad;
      is_key_ = true;
      state_ = State::kString;
      return Step::kMore;
    case State::kColon:
      if (c != ':') return Step::kBad;
      state_ = State::kValue;
      return Step::kMore;
    case State::kAfter:
      if (c == '}' || c == ']') return close(c);
      if (c != ',') return Step::kBad;
      state_ = stack_.back() == '{' ? State::kKey : State::kValue;
      return Step::kMore;
    case State::kFirstValue:
      if (c == ']') return close(c);
      [[fallthrough]];
    default:
      return begin_value(c);
  }
}

JsonScanner::Step JsonScanner::push(char c) {
  switch (state_) {
    case State::kString:
    case State::kEscape:
    case State::kHex:
      return in_string(c);
    case State::kWord:
      if (c != word_.front()) return Step::kBad;
      word_.remove_prefix(1);
      return word_.empty() ? after_value() : Step::kMore;
    case State::kValue:
    case State::kFirstKey:
    case State::kFirstValue:
    case State::kKey:
    case State::kColon:
    case State::kAfter:
      return between(c);
    default:
      return in_number(c);
  }
}

}  // namespace ingot
