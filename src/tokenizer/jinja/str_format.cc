// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/jinja/str_format.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "tokenizer/jinja/access.h"
#include "tokenizer/jinja/errors.h"
#include "tokenizer/jinja/number_format.h"
#include "tokenizer/jinja/python_text.h"
#include "tokenizer/jinja/unicode_text.h"

namespace ingot::jinja {
namespace {

// [[fill]align][sign][#][0][width][,][.precision][type]
struct Specification {
  std::string_view fill = " ";
  char align = '\0';
  char sign = '-';
  bool is_alternate = false;
  char thousands = '\0';
  int64_t width = 0;
  int64_t precision = -1;
  char type = '\0';
};

bool is_align(char c) {
  return c == '<' || c == '>' || c == '^' || c == '=';
}

int64_t take_number(std::string_view& text) {
  int64_t number = 0;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    number = std::min<int64_t>(number * 10 + (text[0] - '0'), INT32_MAX);
    text.remove_prefix(1);
  }
  return number;
}

Result<Specification> parse_specification(std::string_view text) {
  Specification how;
  const auto take = [&text](char expected) {
    const bool is_there = text.starts_with(expected);
    if (is_there) text.remove_prefix(1);
    return is_there;
  };
  if (!text.empty()) {
    const std::string_view first = first_character(text);
    if (first.size() < text.size() && is_align(text[first.size()])) {
      how.fill = first;
      how.align = text[first.size()];
      text.remove_prefix(first.size() + 1);
    } else if (is_align(text[0])) {
      how.align = text[0];
      text.remove_prefix(1);
    }
  }
  if (!text.empty() && (text[0] == '+' || text[0] == '-' || text[0] == ' ')) {
    how.sign = text[0];
    text.remove_prefix(1);
  }
  how.is_alternate = take('#');
  if (text.starts_with('0')) {
    if (how.align == '\0') {
      how.fill = "0";
      how.align = '=';
    }
    text.remove_prefix(1);
  }
  how.width = take_number(text);
  if (!text.empty() && (text[0] == ',' || text[0] == '_')) {
    how.thousands = text[0];
    text.remove_prefix(1);
  }
  if (take('.')) {
    if (text.empty() || text[0] < '0' || text[0] > '9')
      return Status::invalid_data("Format specifier missing precision");
    how.precision = take_number(text);
  }
  if (!text.empty()) {
    how.type = text[0];
    text.remove_prefix(1);
  }
  if (!text.empty()) return Status::invalid_data("Invalid format specifier");
  if (how.precision > kMostPrecision && how.type != 's' && how.type != '\0') {
    return Status::invalid_data("a precision of {} is too large", how.precision);
  }
  return how;
}

void write_padded(TextBuilder& out, const Specification& how, char usual, std::string_view sign,
                  std::string_view body) {
  const char align = how.align == '\0' ? usual : how.align;
  const auto length = static_cast<int64_t>(sign.size() + count_code_points(body));
  const auto missing = static_cast<uint64_t>(std::max<int64_t>(how.width - length, 0));
  const uint64_t left = align == '>' ? missing : align == '^' ? missing / 2 : 0;
  const uint64_t inside = align == '=' ? missing : 0;
  out.repeat(how.fill, left);
  out.append(sign);
  out.repeat(how.fill, inside);
  out.append(body);
  out.repeat(how.fill, missing - left - inside);
}

std::string sign_text(const Specification& how, bool is_negative) {
  if (is_negative) return "-";
  return how.sign == '-' ? "" : std::string(1, how.sign);
}

Status write_text(TextBuilder& out, Value value, const Specification& how) {
  if ((how.type != 's' && how.type != '\0') || how.align == '=') {
    return Status::invalid_data("Unknown format code for object of type 'str'");
  }
  std::string_view text = value.text();
  if (how.precision >= 0 && static_cast<uint64_t>(how.precision) < text.size()) {
    text = text.substr(
        0, byte_offset(value.string(),
                       std::min(length_of(value.string()), static_cast<size_t>(how.precision))));
  }
  write_padded(out, how, '<', "", text);
  return Status::ok();
}

Status write_float(TextBuilder& out, double number, const Specification& how) {
  const bool is_negative = std::signbit(number) && !std::isnan(number);
  const bool is_percent = how.type == '%';
  std::string digits;
  if (how.type == '\0' && how.precision < 0) {
    digits = float_repr(std::fabs(number));
  } else {
    const char type = is_percent ? 'f' : how.type == '\0' || how.type == 'n' ? 'g' : how.type;
    if (std::string_view("eEfFgG").find(type) == std::string_view::npos) {
      return Status::invalid_data("Unknown format code '{}' for object of type 'float'", type);
    }
    const int precision = how.precision < 0 ? 6 : static_cast<int>(how.precision);
    digits = format_magnitude(is_percent ? number * 100 : number, type, precision);
    const bool is_whole = how.type == '\0' && digits.find_first_of(".en") == std::string::npos;
    if (is_whole) digits += ".0";  // a float stays one to the eye
  }
  if (how.thousands != '\0') digits = with_thousands(digits, how.thousands);
  if (is_percent) digits += '%';
  write_padded(out, how, '>', sign_text(how, is_negative), digits);
  return Status::ok();
}

Status write_integer(TextBuilder& out, int64_t number, const Specification& how) {
  if (std::string_view("eEfFgG%").find(how.type) != std::string_view::npos && how.type != '\0') {
    return write_float(out, static_cast<double>(number), how);
  }
  if (how.precision >= 0)
    return Status::invalid_data("Precision not allowed in integer format specifier");
  if (how.type == 'c') {
    if (number < 0 || number > 0x10FFFF)
      return Status::invalid_data("%c arg not in range(0x110000)");
    TextBuilder character(out.heap());
    character.append_code_point(static_cast<char32_t>(number));
    write_padded(out, how, '<', "", character.so_far());
    return Status::ok();
  }
  const int base = how.type == 'b'                      ? 2
                   : how.type == 'o'                    ? 8
                   : how.type == 'x' || how.type == 'X' ? 16
                                                        : 10;
  if (base == 10 && how.type != 'd' && how.type != 'n' && how.type != '\0') {
    return Status::invalid_data("Unknown format code '{}' for object of type 'int'", how.type);
  }
  std::string digits = format_magnitude(number, base, how.type == 'X');
  if (how.thousands != '\0') digits = with_thousands(digits, how.thousands);
  std::string sign = sign_text(how, number < 0);
  if (how.is_alternate && base != 10) sign += std::string("0") + how.type;
  write_padded(out, how, '>', sign, digits);
  return Status::ok();
}

Status write_value(TextBuilder& out, Value value, std::string_view specification) {
  if (specification.empty()) {
    write_str(out, value);
    return Status::ok();
  }
  INGOT_TRY(const Specification how, parse_specification(specification));
  if (value.is_string()) return write_text(out, value, how);
  if (value.is(Kind::kFloat)) return write_float(out, value.as_number(), how);
  if (value.is_integral()) return write_integer(out, value.as_integer(), how);
  return Status::invalid_data("unsupported format string passed to {}.__format__",
                              type_name(value));
}

class Braces {
 public:
  Braces(Heap& heap, const CallArgs& args) : heap_(heap), args_(args) {}

  // `depth` is 1 inside a specification, which may hold fields but no further ones.
  Status run(TextBuilder& out, std::string_view text, int depth) {
    out.fail(heap_.budget().scan(text.size()));
    size_t at = 0;
    while (at < text.size()) {
      if (out.has_failed()) return out.status();
      const size_t brace = std::min(text.find_first_of("{}", at), text.size());
      out.append(text.substr(at, brace - at));
      at = brace + 1;
      if (brace == text.size()) break;
      if (at < text.size() && text[at] == text[brace]) {
        out.append(text[at++]);
        continue;
      }
      if (text[brace] == '}')
        return Status::invalid_data("Single '}}' encountered in format string");
      INGOT_TRY(const size_t end, end_of_field(text, at));
      INGOT_TRY(field(out, text.substr(at, end - at), depth));
      at = end + 1;
    }
    return out.status();
  }

 private:
  static Result<size_t> end_of_field(std::string_view text, size_t at) {
    int open = 1;
    for (; at < text.size(); ++at) {
      if (text[at] == '{') ++open;
      if (text[at] == '}' && --open == 0) return at;
    }
    return Status::invalid_data("expected '}}' before end of string");
  }

  Status field(TextBuilder& out, std::string_view text, int depth) {
    if (depth > 1) return Status::invalid_data("Max string recursion exceeded");
    const size_t mark = std::min(text.find_first_of("!:"), text.size());
    std::string_view rest = text.substr(mark);
    INGOT_TRY(Value value, named(text.substr(0, mark)));
    if (rest.starts_with('!')) {
      if (rest.size() < 2)
        return Status::invalid_data("end of string while looking for conversion specifier");
      const char conversion = rest[1];
      rest.remove_prefix(2);
      TextBuilder converted(heap_);
      if (conversion == 's') {
        write_str(converted, value);
      } else if (conversion == 'r' || conversion == 'a') {
        write_repr(converted, value);
      } else {
        return Status::invalid_data("Unknown conversion specifier '{}'", conversion);
      }
      INGOT_TRY(value, converted.finish());
    }
    if (rest.starts_with(':')) rest.remove_prefix(1);
    TextBuilder specification(heap_);
    INGOT_TRY(run(specification, rest, depth + 1));
    return write_value(out, value, specification.so_far());
  }

  // name.attribute[item]..., where the name may be missing: the next position.
  Result<Value> named(std::string_view path) {
    const size_t end = std::min(path.find_first_of(".["), path.size());
    INGOT_TRY(Value value, root(path.substr(0, end)));
    path.remove_prefix(end);
    while (!path.empty()) {
      INGOT_TRY(heap_.budget().step());
      const bool is_attribute = path[0] == '.';
      path.remove_prefix(1);
      const size_t stop = std::min(path.find_first_of(is_attribute ? ".[" : "]"), path.size());
      const std::string_view name = path.substr(0, stop);
      if (name.empty()) return Status::invalid_data("Empty attribute in format string");
      if (is_attribute) {
        INGOT_TRY(value, get_attribute(heap_, value, name));
      } else {
        int64_t index = 0;
        const auto read = std::from_chars(name.data(), name.data() + name.size(), index);
        const bool is_number =
            read.ec == std::errc() && read.ptr == name.data() + name.size() && name[0] != '-';
        Value key = Value::integer(index);
        if (!is_number) {
          INGOT_TRY(key, heap_.view(name));
        }
        INGOT_TRY(value, get_item(heap_, value, key));
      }
      path.remove_prefix(std::min(stop + (is_attribute ? 0 : 1), path.size()));
    }
    return value;
  }

  Result<Value> root(std::string_view name) {
    size_t index = 0;
    const auto read = std::from_chars(name.data(), name.data() + name.size(), index);
    const bool is_number =
        !name.empty() && read.ec == std::errc() && read.ptr == name.data() + name.size();
    if (name.empty() || is_number) {
      if (is_number == is_automatic_ && has_positions_) {
        return Status::invalid_data("cannot switch between manual and automatic field numbering");
      }
      has_positions_ = true;
      is_automatic_ = !is_number;
      if (!is_number) index = next_++;
      if (index >= args_.positional.size()) {
        return Status::invalid_data("Replacement index {} out of range for positional args tuple",
                                    index);
      }
      return args_.positional[index];
    }
    for (const Keyword& keyword : args_.keywords) {
      if (keyword.name == name) return keyword.value;
    }
    return Status::invalid_data("'{}' is not among the values to format", name.substr(0, 100));
  }

  Heap& heap_;
  CallArgs args_;
  size_t next_ = 0;
  bool has_positions_ = false;
  bool is_automatic_ = false;
};

}  // namespace

Result<Value> format_braces(Heap& heap, Value format, const CallArgs& args) {
  TextBuilder out(heap);
  INGOT_TRY(Braces(heap, args).run(out, format.text(), 0));
  return out.finish(format.is_markup());
}

}  // namespace ingot::jinja
