// SPDX-License-Identifier: Apache-2.0
// Filters over text. Most print their input first, whatever it is, as Jinja's do.
#include <algorithm>

#include "base/utf8.h"
#include "tokenizer/jinja/builtins.h"
#include "tokenizer/jinja/dict.h"
#include "tokenizer/jinja/errors.h"
#include "tokenizer/jinja/interpreter.h"
#include "tokenizer/jinja/iterate.h"
#include "tokenizer/jinja/operators.h"
#include "tokenizer/jinja/python_text.h"
#include "tokenizer/jinja/text_tools.h"
#include "tokenizer/jinja/unicode_text.h"

namespace ingot::jinja {
namespace {

template <Case kHow>
Result<Value> change_case(Interpreter& in, Value self, const Arguments&) {
  INGOT_TRY(const Value text, soft_string(in.heap(), self));
  return cased(in.heap(), text, static_cast<int>(kHow));
}

Result<Value> to_string(Interpreter& in, Value self, const Arguments&) {
  return soft_string(in.heap(), self);
}

Result<Value> trim(Interpreter& in, Value self, const Arguments& args) {
  INGOT_TRY(const Value text, soft_string(in.heap(), self));
  return strip(in.heap(), text, args[0], true, true);
}

Result<Value> replace(Interpreter& in, Value self, const Arguments& args) {
  Heap& heap = in.heap();
  INGOT_TRY(const Value text, plain_string(heap, self));
  INGOT_TRY(const Value from, plain_string(heap, args[0]));
  INGOT_TRY(const Value to, plain_string(heap, args[1]));
  int64_t count = -1;
  if (args.has(2) && !args[2].is_none()) {
    INGOT_TRY(count, expect_integer(heap, args[2]));
  }
  return replaced(heap, text, from.text(), to.text(), count);
}

Result<Value> center(Interpreter& in, Value self, const Arguments& args) {
  INGOT_TRY(const Value text, soft_string(in.heap(), self));
  int64_t width = 80;
  if (args.has(0)) {
    INGOT_TRY(width, expect_integer(in.heap(), args[0]));
  }
  return padded(in.heap(), text, width, " ", Align::kCenter);
}

bool is_word_break(char32_t c) {
  return c == '-' || c == '(' || c == '{' || c == '[' || c == '<' || is_space(c);
}

// Words begin after spaces and opening brackets; the rest of each is made small.
Result<Value> title(Interpreter& in, Value self, const Arguments&) {
  INGOT_TRY(const Value value, soft_string(in.heap(), self));
  const std::string_view text = value.text();
  INGOT_TRY(in.heap().budget().scan(text.size()));
  TextBuilder out(in.heap());
  for (size_t at = 0; at < text.size() && !out.has_failed();) {
    size_t end = at;
    bool is_break = false;
    while (end < text.size()) {
      const utf8::Decoded next = utf8::decode(text.substr(end));
      const bool breaks = is_word_break(next.code_point);
      if (end > at && breaks != is_break) break;
      is_break = breaks;
      end += next.size;
    }
    const std::string_view first = first_character(text.substr(at));
    append_cased(out, first, Case::kUpper);
    append_cased(out, text.substr(at + first.size(), end - at - first.size()), Case::kLower);
    at = end;
  }
  return out.finish();
}

Result<Value> format(Interpreter& in, Value self, const Arguments& args) {
  Heap& heap = in.heap();
  INGOT_TRY(const Value text, soft_string(heap, self));
  if (!args.given.positional.empty() && !args.given.keywords.empty()) {
    return Status::invalid_data("can't handle positional and keyword arguments at the same time");
  }
  if (args.given.keywords.empty()) {
    INGOT_TRY(const Value values, heap.sequence(Kind::kTuple, args.given.positional));
    return format_percent(heap, text, values);
  }
  DictBuilder named(heap);
  for (const Keyword& keyword : args.given.keywords) {
    INGOT_TRY(const Value key, heap.view(keyword.name));
    INGOT_TRY(named.add(key, keyword.value));
  }
  INGOT_TRY(const Value values, named.finish());
  return format_percent(heap, text, values);
}

Result<Value> indent(Interpreter& in, Value self, const Arguments& args) {
  Heap& heap = in.heap();
  INGOT_TRY(const std::string_view text, expect_text(heap, self));
  std::string_view unit = " ";
  int64_t times = 4;
  if (args.has(0) && args[0].is_string()) {
    unit = args[0].text();
    times = 1;
  } else if (args.has(0)) {
    INGOT_TRY(times, expect_integer(heap, args[0]));
  }
  const auto indents = static_cast<uint64_t>(std::max<int64_t>(times, 0));
  const bool with_first = is_true(args[1]);
  const bool with_blank = is_true(args[2]);
  std::vector<std::string_view> lines;
  INGOT_TRY(split_lines(heap, text, false, lines));
  // Jinja adds a newline before it splits, which only shows where the text already ends in one.
  const bool ends_in_break =
      text.empty() || is_line_break(utf8::decode(last_character(text)).code_point);
  if (ends_in_break && !(text.ends_with('\r'))) lines.push_back({});
  TextBuilder out(heap);
  for (size_t i = 0; i < lines.size() && !out.has_failed(); ++i) {
    if (i > 0) out.append('\n');
    const bool is_indented = i == 0 ? with_first : with_blank || !lines[i].empty();
    if (is_indented) out.repeat(unit, indents);
    out.append(lines[i]);
  }
  return out.finish(self.is_markup());
}

Result<Value> truncate(Interpreter& in, Value self, const Arguments& args) {
  Heap& heap = in.heap();
  int64_t length = 255;
  int64_t leeway = 5;
  std::string_view end = "...";
  if (args.has(0)) {
    INGOT_TRY(length, expect_integer(heap, args[0]));
  }
  if (args.has(2)) {
    INGOT_TRY(end, expect_text(heap, args[2]));
  }
  if (args.has(3) && !args[3].is_none()) {
    INGOT_TRY(leeway, expect_integer(heap, args[3]));
  }
  const auto end_length = static_cast<int64_t>(count_code_points(end));
  if (length < end_length)
    return Status::invalid_data("expected length >= {}, got {}", end_length, length);
  if (leeway < 0) return Status::invalid_data("expected leeway >= 0, got {}", leeway);
  INGOT_TRY(const int64_t size, jinja::length(heap, self));
  if (size <= length || size - length <= leeway) return self;
  INGOT_TRY(expect_text(heap, self));
  std::string_view kept =
      self.text().substr(0, byte_offset(self.string(), static_cast<size_t>(length - end_length)));
  if (!is_true(args[1])) kept = kept.substr(0, kept.rfind(' '));
  TextBuilder out(heap);
  out.append(kept);
  out.append(end);
  return out.finish(self.is_markup());
}

Result<Value> wordcount(Interpreter& in, Value self, const Arguments&) {
  INGOT_TRY(const Value text, soft_string(in.heap(), self));
  INGOT_TRY(in.heap().budget().scan(text.text().size()));
  int64_t words = 0;
  bool is_inside = false;
  for (std::string_view rest = text.text(); !rest.empty();) {
    const utf8::Decoded next = utf8::decode(rest);
    const bool is_word = next.code_point == '_' || is_alnum(next.code_point);
    if (is_word && !is_inside) ++words;
    is_inside = is_word;
    rest.remove_prefix(next.size);
  }
  return Value::integer(words);
}

Result<Value> tojson(Interpreter& in, Value self, const Arguments& args) {
  Heap& heap = in.heap();
  JsonStyle style;
  style.ensure_ascii = is_true(args[0]);
  std::string spaces;
  if (args.has(1) && !args[1].is_none()) {
    if (args[1].is_string()) {
      style.indent = args[1].text();
    } else {
      INGOT_TRY(const int64_t width, expect_integer(heap, args[1]));
      if (width > 1000) return Status::invalid_data("tojson: an indent of {} is too large", width);
      spaces.assign(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
      style.indent = spaces;
    }
    style.item_separator = ",";
  }
  if (args.has(2) && !args[2].is_none()) {
    INGOT_TRY(const std::span<const Value> separators, iterate(heap, args[2]));
    if (separators.size() != 2) return Status::invalid_data("tojson: separators are two strings");
    INGOT_TRY(style.item_separator, expect_text(heap, separators[0]));
    INGOT_TRY(style.key_separator, expect_text(heap, separators[1]));
  }
  style.sort_keys = is_true(args[3]);
  TextBuilder out(heap);
  write_json(out, self, style);
  return out.finish();
}

void write_url_quoted(TextBuilder& out, std::string_view text, bool is_query) {
  out.fail(out.heap().budget().scan(text.size()));
  for (const char c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-' || c == '~' ||
                          (c == '/' && !is_query);
    if (is_plain) {
      out.append(c);
    } else if (c == ' ' && is_query) {
      out.append('+');
    } else {
      out.append(fmt::format("%{:02X}", static_cast<unsigned char>(c)));
    }
    if (out.has_failed()) return;
  }
}

Result<Value> urlencode(Interpreter& in, Value self, const Arguments&) {
  Heap& heap = in.heap();
  TextBuilder out(heap);
  if (self.is_string() || !is_iterable(self)) {
    INGOT_TRY(const Value text, plain_string(heap, self));
    write_url_quoted(out, text.text(), false);
    return out.finish();
  }
  Value pairs = self;
  if (self.is_dict()) {
    INGOT_TRY(pairs, dict_view(heap, self.dict(), Kind::kItems));
  }
  INGOT_TRY(const std::span<const Value> items, iterate(heap, pairs));
  for (size_t i = 0; i < items.size(); ++i) {
    INGOT_TRY(const std::span<const Value> both, iterate(heap, items[i]));
    if (both.size() != 2) return Status::invalid_data("urlencode takes pairs");
    INGOT_TRY(const Value key, plain_string(heap, both[0]));
    INGOT_TRY(const Value value, plain_string(heap, both[1]));
    if (i > 0) out.append('&');
    write_url_quoted(out, key.text(), true);
    out.append('=');
    write_url_quoted(out, value.text(), true);
  }
  return out.finish();
}

Result<Value> pprint(Interpreter& in, Value self, const Arguments&) {
  TextBuilder out(in.heap());
  write_repr(out, self);
  return out.finish();
}

constexpr Builtin kTextFilters[] = {
    {"capitalize", "", change_case<Case::kCapitalize>},
    {"center", "width?", center},
    {"format", "*", format},
    {"indent", "width? first? blank?", indent},
    {"lower", "", change_case<Case::kLower>},
    {"pprint", "", pprint},
    {"replace", "old new count?", replace},
    {"string", "", to_string},
    {"title", "", title},
    {"tojson", "ensure_ascii? indent? separators? sort_keys?", tojson},
    {"trim", "chars?", trim},
    {"truncate", "length? killwords? end? leeway?", truncate},
    {"upper", "", change_case<Case::kUpper>},
    {"urlencode", "", urlencode},
    {"wordcount", "", wordcount},
};

}  // namespace

std::span<const Builtin> text_filters() {
  return kTextFilters;
}

}  // namespace ingot::jinja
