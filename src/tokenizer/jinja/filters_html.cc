// SPDX-License-Identifier: Apache-2.0
// Filters about HTML. Chat templates are rendered without autoescaping, so these matter only where
// a template asks: `|safe` and `|escape` make markup, which `+` then escapes its other side for.
#include "base/utf8.h"
#include "tokenizer/jinja/builtins.h"
#include "tokenizer/jinja/errors.h"
#include "tokenizer/jinja/interpreter.h"
#include "tokenizer/jinja/python_text.h"
#include "tokenizer/jinja/unicode_text.h"

namespace ingot::jinja {
namespace {

Result<Value> escape(Interpreter& in, Value self, const Arguments&) {
  return escape_value(in.heap(), self);
}

Result<Value> forceescape(Interpreter& in, Value self, const Arguments&) {
  INGOT_TRY(const Value text, plain_string(in.heap(), self));
  return escape_value(in.heap(), text);
}

Result<Value> safe(Interpreter& in, Value self, const Arguments&) {
  INGOT_TRY(const Value text, soft_string(in.heap(), self));
  return in.heap().view(text.text(), true);
}

// Text without what stands between `open` and `close`.
Result<Value> without_spans(Heap& heap, std::string_view text, std::string_view open,
                            std::string_view close) {
  TextBuilder out(heap);
  out.fail(heap.budget().copy(2 * text.size()));
  size_t at = 0;
  while (!out.has_failed()) {
    const size_t begin = find_text(text, open, at);
    const size_t end =
        begin == std::string_view::npos ? begin : find_text(text, close, begin + open.size());
    if (end == std::string_view::npos) break;
    out.append(text.substr(at, begin - at));
    at = end + close.size();
  }
  out.append(text.substr(at));
  return out.finish();
}

struct Entity {
  std::string_view name;
  std::string_view text;
};

constexpr Entity kEntities[] = {{"amp;", "&"},   {"lt;", "<"},   {"gt;", ">"},
                                {"quot;", "\""}, {"apos;", "'"}, {"nbsp;", "\u00A0"}};

// The entity behind an '&' at the front of `rest`: what it stands for, and its size; size 0 if it
// is none.
size_t read_entity(std::string_view rest, std::string& meaning) {
  for (const Entity& entity : kEntities) {
    if (!rest.substr(1).starts_with(entity.name)) continue;
    meaning = entity.text;
    return 1 + entity.name.size();
  }
  if (!rest.starts_with("&#")) return 0;
  const size_t end = rest.substr(0, 12).find(';');
  if (end == std::string_view::npos || end == 2) return 0;
  const bool is_hex = rest[2] == 'x' || rest[2] == 'X';
  uint32_t value = 0;
  for (size_t i = is_hex ? 3 : 2; i < end; ++i) {
    const char c = rest[i];
    const int digit = c >= '0' && c <= '9'                     ? c - '0'
                      : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                               : 99;
    if (digit >= (is_hex ? 16 : 10)) return 0;
    value = std::min<uint32_t>(value * (is_hex ? 16 : 10) + static_cast<uint32_t>(digit), 0x110000);
  }
  meaning.clear();
  utf8::append(meaning, value);
  return end + 1;
}

Result<Value> striptags(Interpreter& in, Value self, const Arguments&) {
  Heap& heap = in.heap();
  INGOT_TRY(const Value text, plain_string(heap, self));
  INGOT_TRY(const Value no_comments, without_spans(heap, text.text(), "<!--", "-->"));
  INGOT_TRY(const Value no_tags, without_spans(heap, no_comments.text(), "<", ">"));
  INGOT_TRY(heap.budget().scan(no_tags.text().size()));
  TextBuilder out(heap);
  bool is_first = true;
  for (std::string_view rest = strip_left(no_tags.text()); !rest.empty() && !out.has_failed();) {
    if (!is_first) out.append(' ');
    is_first = false;
    while (!rest.empty() && !is_space(utf8::decode(rest).code_point)) {
      std::string meaning;
      const size_t size = rest[0] == '&' ? read_entity(rest, meaning) : 0;
      const std::string_view character = first_character(rest);
      out.append(size > 0 ? std::string_view(meaning) : character);
      rest.remove_prefix(size > 0 ? size : character.size());
    }
    rest = strip_left(rest);
  }
  return out.finish();
}

Result<Value> xmlattr(Interpreter& in, Value self, const Arguments& args) {
  Heap& heap = in.heap();
  if (!self.is_dict())
    return Status::invalid_data("xmlattr takes a mapping, not {}", type_name(self));
  TextBuilder out(heap);
  for (const DictEntry& entry : self.dict().entries) {
    if (entry.value.is_none() || entry.value.is_undefined()) continue;
    INGOT_TRY(const std::string_view key, expect_text(heap, entry.key));
    if (key.find_first_of(" \t\n\r\f\v/>=") != std::string_view::npos) {
      return Status::invalid_data("Invalid character in attribute name: '{}'", key.substr(0, 100));
    }
    const bool is_first = out.so_far().empty();
    if (!is_first || !args.has(0) || is_true(args[0])) out.append(' ');
    INGOT_TRY(const Value name, escape_value(heap, entry.key));
    INGOT_TRY(const Value value, escape_value(heap, entry.value));
    out.append(name.text());
    out.append("=\"");
    out.append(value.text());
    out.append('"');
    if (out.has_failed()) return out.status();
  }
  return out.finish();
}

Result<Value> refuse(Interpreter&, Value, const Arguments&) {
  return Status::invalid_data("this filter is not supported in chat templates");
}

constexpr Builtin kHtmlFilters[] = {
    {"e", "", escape},
    {"escape", "", escape},
    {"forceescape", "", forceescape},
    {"random", "*", refuse},
    {"safe", "", safe},
    {"striptags", "", striptags},
    {"urlize", "*", refuse},
    {"xmlattr", "autospace?", xmlattr},
};

}  // namespace

std::span<const Builtin> html_filters() {
  return kHtmlFilters;
}

}  // namespace ingot::jinja
