// SPDX-License-Identifier: Apache-2.0
// Methods of strings that change or describe the whole; the ones that search are in
// string_search_methods.cc.
#include "tokenizer/jinja/builtins.h"
#include "tokenizer/jinja/errors.h"
#include "tokenizer/jinja/interpreter.h"
#include "tokenizer/jinja/iterate.h"
#include "tokenizer/jinja/python_text.h"
#include "tokenizer/jinja/str_format.h"
#include "tokenizer/jinja/string_classes.h"
#include "tokenizer/jinja/text_tools.h"
#include "tokenizer/jinja/unicode_text.h"

namespace ingot::jinja {
namespace {

template <Case kHow>
Result<Value> change_case(Interpreter& in, Value self, const Arguments&) {
  return cased(in.heap(), self, static_cast<int>(kHow));
}

template <bool kLeft, bool kRight>
Result<Value> strip_method(Interpreter& in, Value self, const Arguments& args) {
  return strip(in.heap(), self, args[0], kLeft, kRight);
}

Result<Value> replace(Interpreter& in, Value self, const Arguments& args) {
  Heap& heap = in.heap();
  INGOT_TRY(const std::string_view from, expect_text(heap, args[0]));
  INGOT_TRY(expect_text(heap, args[1]));
  Value to = args[1];
  if (self.is_markup()) {
    INGOT_TRY(to, escape_value(heap, to));
  }
  int64_t count = -1;
  if (args.has(2)) {
    INGOT_TRY(count, expect_integer(heap, args[2]));
  }
  return replaced(heap, self, from, to.text(), count);
}

Result<Value> join(Interpreter& in, Value self, const Arguments& args) {
  Heap& heap = in.heap();
  INGOT_TRY(const std::span<const Value> items, iterate(heap, args[0]));
  TextBuilder out(heap);
  for (size_t i = 0; i < items.size() && !out.has_failed(); ++i) {
    INGOT_TRY(heap.budget().step());
    Value item = items[i];
    if (self.is_markup()) {
      INGOT_TRY(item, escape_value(heap, item));
    } else if (!item.is_string()) {
      return Status::invalid_data("sequence item {}: expected str instance, {} found", i,
                                  type_name(item));
    }
    if (i > 0) out.append(self.text());
    out.append(item.text());
  }
  return out.finish(self.is_markup());
}

template <Align kAlign>
Result<Value> justify(Interpreter& in, Value self, const Arguments& args) {
  INGOT_TRY(const int64_t width, expect_integer(in.heap(), args[0]));
  std::string_view fill = " ";
  if (args.has(1)) {
    INGOT_TRY(fill, expect_text(in.heap(), args[1]));
  }
  return padded(in.heap(), self, width, fill, kAlign);
}

Result<Value> zfill(Interpreter& in, Value self, const Arguments& args) {
  Heap& heap = in.heap();
  INGOT_TRY(const int64_t width, expect_integer(heap, args[0]));
  INGOT_TRY(const int64_t size, length(heap, self));
  if (width <= size) return self;
  const bool has_sign = self.text().starts_with('-') || self.text().starts_with('+');
  TextBuilder out(heap);
  if (has_sign) out.append(self.text()[0]);
  out.repeat("0", static_cast<uint64_t>(width - size));
  out.append(self.text().substr(has_sign ? 1 : 0));
  return out.finish(self.is_markup());
}

template <bool kAtFront>
Result<Value> remove_affix(Interpreter& in, Value self, const Arguments& args) {
  INGOT_TRY(const std::string_view affix, expect_text(in.heap(), args[0]));
  std::string_view text = self.text();
  const bool is_there = kAtFront ? text.starts_with(affix) : text.ends_with(affix);
  if (!is_there || affix.empty()) return self;
  INGOT_TRY(in.heap().budget().copy(affix.size()));
  if (kAtFront) {
    text.remove_prefix(affix.size());
  } else {
    text.remove_suffix(affix.size());
  }
  return in.heap().view(text, self.is_markup());
}

template <bool (*kInClass)(char32_t)>
Result<Value> all_are(Interpreter& in, Value self, const Arguments&) {
  INGOT_TRY(in.heap().budget().scan(self.text().size()));
  return Value::boolean(is_all(self.text(), kInClass));
}

bool is_ascii(char32_t code_point) {
  return code_point < 0x80;
}

Result<Value> is_ascii_text(Interpreter& in, Value self, const Arguments&) {
  INGOT_TRY(in.heap().budget().scan(self.text().size()));
  return Value::boolean(self.text().empty() || is_all(self.text(), is_ascii));
}

Result<Value> is_printable_text(Interpreter& in, Value self, const Arguments&) {
  INGOT_TRY(in.heap().budget().scan(self.text().size()));
  return Value::boolean(self.text().empty() || is_all(self.text(), is_printable));
}

template <bool (*kHolds)(std::string_view)>
Result<Value> text_is(Interpreter& in, Value self, const Arguments&) {
  INGOT_TRY(in.heap().budget().scan(self.text().size()));
  return Value::boolean(kHolds(self.text()));
}

// Upper case only at the beginning of words, lower case only inside them.
bool is_title_text(std::string_view text) {
  bool is_inside = false;
  bool has_cased = false;
  while (!text.empty()) {
    const utf8::Decoded next = utf8::decode(text);
    text.remove_prefix(next.size);
    if (is_upper(next.code_point) || is_title(next.code_point)) {
      if (is_inside) return false;
      is_inside = has_cased = true;
    } else if (is_lower(next.code_point)) {
      if (!is_inside) return false;
      has_cased = true;
    } else {
      is_inside = false;
    }
  }
  return has_cased;
}

bool is_identifier_text(std::string_view text) {
  if (text.empty() || is_decimal(utf8::decode(text).code_point)) return false;
  return is_all(text, [](char32_t c) { return c == '_' || is_alnum(c); });
}

Result<Value> format(Interpreter& in, Value self, const Arguments& args) {
  return format_braces(in.heap(), self, args.given);
}

Result<Value> refuse(Interpreter&, Value, const Arguments&) {
  return Status::invalid_data("this string method is not supported in chat templates");
}

constexpr Builtin kStringMethods[] = {
    {"capitalize", "", change_case<Case::kCapitalize>},
    {"casefold", "", change_case<Case::kLower>},
    {"center", "width fillchar?", justify<Align::kCenter>},
    {"encode", "*", refuse},
    {"expandtabs", "*", refuse},
    {"format", "*", format},
    {"format_map", "*", refuse},
    {"isalnum", "", all_are<is_alnum>},
    {"isalpha", "", all_are<is_alpha>},
    {"isascii", "", is_ascii_text},
    {"isdecimal", "", all_are<is_decimal>},
    {"isdigit", "", all_are<is_digit>},
    {"isidentifier", "", text_is<is_identifier_text>},
    {"islower", "", text_is<is_lower_text>},
    {"isnumeric", "", all_are<is_digit>},
    {"isprintable", "", is_printable_text},
    {"isspace", "", all_are<is_space>},
    {"istitle", "", text_is<is_title_text>},
    {"isupper", "", text_is<is_upper_text>},
    {"join", "iterable", join},
    {"ljust", "width fillchar?", justify<Align::kLeft>},
    {"lower", "", change_case<Case::kLower>},
    {"lstrip", "chars?", strip_method<true, false>},
    {"maketrans", "*", refuse},
    {"removeprefix", "prefix", remove_affix<true>},
    {"removesuffix", "suffix", remove_affix<false>},
    {"replace", "old new count?", replace},
    {"rjust", "width fillchar?", justify<Align::kRight>},
    {"rstrip", "chars?", strip_method<false, true>},
    {"strip", "chars?", strip_method<true, true>},
    {"swapcase", "", change_case<Case::kSwap>},
    {"title", "", change_case<Case::kTitle>},
    {"translate", "*", refuse},
    {"upper", "", change_case<Case::kUpper>},
    {"zfill", "width", zfill},
};

}  // namespace

bool is_upper_text(std::string_view text) {
  bool has_upper = false;
  while (!text.empty()) {
    const utf8::Decoded next = utf8::decode(text);
    text.remove_prefix(next.size);
    if (is_lower(next.code_point) || is_title(next.code_point)) return false;
    has_upper = has_upper || is_upper(next.code_point);
  }
  return has_upper;
}

bool is_lower_text(std::string_view text) {
  bool has_lower = false;
  while (!text.empty()) {
    const utf8::Decoded next = utf8::decode(text);
    text.remove_prefix(next.size);
    if (is_upper(next.code_point) || is_title(next.code_point)) return false;
    has_lower = has_lower || is_lower(next.code_point);
  }
  return has_lower;
}

std::span<const Builtin> string_methods() {
  return kStringMethods;
}

}  // namespace ingot::jinja
