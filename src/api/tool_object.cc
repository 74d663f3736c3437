// SPDX-License-Identifier: Apache-2.0
#include "api/tool_object.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "api/json_text.h"
#include "base/ascii.h"
#include "base/json.h"
#include "base/limits.h"

namespace ingot {
namespace {

// Control characters, which the scanner lets through in strings, as JSON spells them.
void append_character(std::string& out, char c, bool is_in_string) {
  if (is_in_string && static_cast<uint8_t>(c) < 0x20) {
    append_json_escaped(out, {&c, 1});
  } else {
    out += c;
  }
}

}  // namespace

void ToolObject::begin() {
  scanner_.reset();
  part_ = Part::kOpen;
  is_scanning_ = false;
  is_bare_ = false;
  has_name_ = false;
  has_arguments_ = false;
  passes_on_ = false;
  name_.clear();
  arguments_.clear();
}

void ToolObject::begin_arguments(std::string name) {
  begin();
  name_ = std::move(name);
  has_name_ = true;
  is_bare_ = true;
  use_ = Use::kArguments;
  part_ = Part::kValue;
}

std::string ToolObject::take_arguments() {
  if (!has_arguments_) return "{}";
  return std::exchange(arguments_, {});
}

ToolObject::Step ToolObject::push(char c) {
  if (is_scanning_) return scan(c);
  if (is_blank(c)) return Step::kMore;
  const auto go = [&](Part part) {
    part_ = part;
    return Step::kMore;
  };
  switch (part_) {
    case Part::kOpen:
      return c == '{' ? go(Part::kFirstKey) : Step::kBad;
    case Part::kFirstKey:
    case Part::kKey:
      if (c != '"') return Step::kBad;
      kept_.clear();
      is_scanning_ = true;
      part_ = Part::kKey;
      return scan(c);
    case Part::kColon:
      return c == ':' ? go(Part::kValue) : Step::kBad;
    case Part::kValue:
      return begin_value(c);
    case Part::kAfterValue:
      if (c == ',') return go(Part::kKey);
      return c == '}' && has_name_ ? Step::kDone : Step::kBad;
  }
  return Step::kBad;
}

ToolObject::Step ToolObject::begin_value(char c) {
  is_scanning_ = true;
  kept_.clear();
  if (use_ == Use::kName && c != '"') return Step::kBad;
  if (use_ == Use::kArguments) {
    if (is_bare_ && c != '{') return Step::kBad;
    passes_on_ = c == '{';
    has_arguments_ = passes_on_;
    if (!passes_on_ && c != '"' && c != 'n') return Step::kBad;
  }
  return scan(c);
}

ToolObject::Step ToolObject::scan(char c) {
  const bool is_in_string = scanner_.is_in_string();
  const JsonScanner::Step step = scanner_.push(c);
  if (step == JsonScanner::Step::kBad) return Step::kBad;
  if (step != JsonScanner::Step::kDoneBefore) {
    if (part_ == Part::kValue && passes_on_) {
      append_character(arguments_, c, is_in_string);
    } else if (part_ == Part::kKey || use_ != Use::kSkipped) {
      append_character(kept_, c, is_in_string);
    }
    if (part_ == Part::kKey && kept_.size() > limits::kRequestNameBytes) return Step::kBad;
  }
  if (step == JsonScanner::Step::kMore) return Step::kMore;
  is_scanning_ = false;
  scanner_.reset();
  const Step ended = end_value();
  if (ended != Step::kMore || step == JsonScanner::Step::kDone) return ended;
  return push(c);  // it ended a number and means something of its own
}

ToolObject::Step ToolObject::end_value() {
  if (part_ == Part::kKey) {
    const Result<Json> key = parse_json(kept_, "key");
    if (!key.is_ok()) return Step::kBad;
    const auto& text = key->get_ref<const std::string&>();
    use_ = Use::kSkipped;
    if (text == "name") use_ = Use::kName;
    if (text == "arguments" || text == "parameters") use_ = Use::kArguments;
    if ((use_ == Use::kName && has_name_) || (use_ == Use::kArguments && has_arguments_))
      return Step::kBad;
    part_ = Part::kColon;
    return Step::kMore;
  }
  part_ = Part::kAfterValue;
  if (use_ == Use::kName) {
    const Result<Json> name = parse_json(kept_, "name");
    if (!name.is_ok()) return Step::kBad;
    name_ = name->get<std::string>();
    has_name_ = true;
    return name_.empty() || name_.size() > limits::kRequestNameBytes ? Step::kBad : Step::kMore;
  }
  if (use_ != Use::kArguments) return Step::kMore;
  if (is_bare_) return Step::kDone;
  if (std::exchange(passes_on_, false)) return Step::kMore;
  return end_quoted_arguments();
}

// Some models write the arguments as a string that holds JSON, or null for none.
ToolObject::Step ToolObject::end_quoted_arguments() {
  if (kept_ == "null") {
    has_arguments_ = true;
    arguments_ = "{}";
    return Step::kMore;
  }
  const Result<Json> quoted = parse_json(kept_, "arguments");
  if (!quoted.is_ok()) return Step::kBad;
  const Result<Json> inner = parse_json(quoted->get_ref<const std::string&>(), "arguments");
  if (!inner.is_ok() || !inner->is_object()) return Step::kBad;
  has_arguments_ = true;
  arguments_ = quoted->get<std::string>();
  return Step::kMore;
}

}  // namespace ingot
