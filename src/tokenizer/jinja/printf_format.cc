// SPDX-License-Identifier: Apache-2.0
// "%s of %d" % (a, b): Python's printf, for the operator and the `format` filter.
#include <algorithm>
#include <cmath>

#include "base/utf8.h"
#include "tokenizer/jinja/dict.h"
#include "tokenizer/jinja/errors.h"
#include "tokenizer/jinja/number_format.h"
#include "tokenizer/jinja/operators.h"
#include "tokenizer/jinja/python_text.h"
#include "tokenizer/jinja/unicode_text.h"

namespace ingot::jinja {
namespace {

struct Directive {
  bool is_left = false;
  bool has_sign = false;
  bool has_blank = false;
  bool is_zero = false;
  bool is_alternate = false;
  int64_t width = 0;
  int64_t precision = -1;
  char type = 's';
};

class Printf {
 public:
  Printf(Heap& heap, Value format, Value arguments)
      : heap_(heap),
        out_(heap),
        text_(format.text()),
        arguments_(arguments),
        is_markup_(format.is_markup()) {}

  Result<Value> run() {
    INGOT_TRY(heap_.budget().scan(text_.size()));
    while (at_ < text_.size() && !out_.has_failed()) {
      const size_t percent = std::min(text_.find('%', at_), text_.size());
      out_.append(text_.substr(at_, percent - at_));
      at_ = percent + 1;
      if (percent < text_.size()) INGOT_TRY(directive());
    }
    const bool is_tuple = arguments_.is(Kind::kTuple);
    const bool is_used = is_tuple ? next_ >= arguments_.items().size() : next_ > 0;
    if (!is_used && !arguments_.is_dict() && !arguments_.is(Kind::kList)) {
      return Status::invalid_data("not all arguments converted during string formatting");
    }
    return out_.finish(is_markup_);
  }

 private:
  Result<Value> next_argument() {
    if (!named_.is_absent()) return named_;
    if (arguments_.is(Kind::kTuple)) {
      if (next_ < arguments_.items().size()) return arguments_.items()[next_++];
    } else if (next_++ == 0) {
      return arguments_;
    }
    return Status::invalid_data("not enough arguments for format string");
  }

  Status read_name() {
    named_ = Value();
    if (at_ >= text_.size() || text_[at_] != '(') return Status::ok();
    const size_t end = text_.find(')', at_);
    if (end == std::string_view::npos) return Status::invalid_data("incomplete format key");
    if (!arguments_.is_dict()) return Status::invalid_data("format requires a mapping");
    const std::string_view name = text_.substr(at_ + 1, end - at_ - 1);
    INGOT_TRY(named_, find_key(heap_, arguments_.dict(), name));
    if (named_.is_absent())
      return Status::invalid_data("'{}' is not among the values to format", name.substr(0, 100));
    at_ = end + 1;
    return Status::ok();
  }

  Status read_number(int64_t& number) {
    if (at_ < text_.size() && text_[at_] == '*') {
      ++at_;
      INGOT_TRY(const Value value, next_argument());
      INGOT_TRY(number, expect_integer(heap_, value));
      return Status::ok();
    }
    number = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      number = std::min<int64_t>(number * 10 + (text_[at_++] - '0'), INT32_MAX);
    }
    return Status::ok();
  }

  Status directive() {
    if (at_ >= text_.size()) return Status::invalid_data("incomplete format");
    INGOT_TRY(read_name());
    Directive how;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '-') {
        how.is_left = true;
      } else if (text_[at_] == '+') {
        how.has_sign = true;
      } else if (text_[at_] == ' ') {
        how.has_blank = true;
      } else if (text_[at_] == '0') {
        how.is_zero = true;
      } else if (text_[at_] == '#') {
        how.is_alternate = true;
      } else {
        break;
      }
    }
    INGOT_TRY(read_number(how.width));
    if (how.width < 0) {
      how.is_left = true;
      how.width = -std::max(how.width, -INT64_MAX);
    }
    if (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      INGOT_TRY(read_number(how.precision));
      how.precision = std::max<int64_t>(how.precision, 0);
    }
    while (at_ < text_.size() && (text_[at_] == 'h' || text_[at_] == 'l' || text_[at_] == 'L'))
      ++at_;
    if (at_ >= text_.size()) return Status::invalid_data("incomplete format");
    how.type = text_[at_++];
    return convert(how);
  }

  Status convert(const Directive& how) {
    switch (how.type) {
      case '%':
        out_.append('%');
        return Status::ok();
      case 's':
      case 'r':
      case 'a':
      case 'c':
        return convert_text(how);
      case 'd':
      case 'i':
      case 'u':
      case 'o':
      case 'x':
      case 'X':
        return convert_integer(how);
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        return convert_float(how);
      default:
        return Status::invalid_data("unsupported format character in '%'");
    }
  }

  Status convert_text(const Directive& how) {
    INGOT_TRY(Value value, next_argument());
    TextBuilder piece(heap_);
    if (how.type == 'c' && value.is_integral()) {
      const int64_t code_point = value.as_integer();
      if (code_point < 0 || code_point > 0x10FFFF)
        return Status::invalid_data("%c arg not in range(0x110000)");
      piece.append_code_point(static_cast<char32_t>(code_point));
    } else if (how.type == 'c') {
      INGOT_TRY(const std::string_view one, expect_text(heap_, value));
      if (count_code_points(one) != 1) return Status::invalid_data("%c requires int or char");
      piece.append(one);
    } else if (how.type != 's') {
      write_repr(piece, value);
    } else if (is_markup_) {
      INGOT_TRY(value, escape_value(heap_, value));
      piece.append(value.text());
    } else {
      write_str(piece, value);
    }
    INGOT_TRY(const Value text, piece.finish());
    std::string_view bytes = text.text();
    if (how.precision >= 0 && static_cast<uint64_t>(how.precision) < bytes.size()) {
      bytes = bytes.substr(
          0, byte_offset(text.string(),
                         std::min(length_of(text.string()), static_cast<size_t>(how.precision))));
    }
    pad(how, "", bytes, false);
    return Status::ok();
  }

  Status convert_integer(const Directive& how) {
    INGOT_TRY(const Value value, next_argument());
    int64_t number = 0;
    if (value.is(Kind::kFloat) && (how.type == 'd' || how.type == 'i' || how.type == 'u')) {
      const double whole = std::trunc(value.as_number());
      if (!(std::fabs(whole) < 9.2e18))
        return Status::invalid_data("cannot convert a float of this size to an integer");
      number = static_cast<int64_t>(whole);
    } else if (value.is_integral()) {
      number = value.as_integer();
    } else {
      INGOT_TRY(check_defined(heap_, value));
      return Status::invalid_data("%{} format: a real number is required, not {}", how.type,
                                  type_name(value));
    }
    const int base = how.type == 'o' ? 8 : how.type == 'x' || how.type == 'X' ? 16 : 10;
    std::string digits = format_magnitude(number, base, how.type == 'X');
    if (how.precision > kMostPrecision)
      return Status::invalid_data("a precision of {} is too large", how.precision);
    if (static_cast<int64_t>(digits.size()) < how.precision) {
      digits.insert(0, static_cast<size_t>(how.precision) - digits.size(), '0');
    }
    std::string sign = sign_of(how, number < 0);
    if (how.is_alternate && base != 10) sign += base == 8 ? "0o" : how.type == 'x' ? "0x" : "0X";
    pad(how, sign, digits, how.is_zero);
    return Status::ok();
  }

  Status convert_float(const Directive& how) {
    INGOT_TRY(const Value value, next_argument());
    if (!value.is_number()) {
      INGOT_TRY(check_defined(heap_, value));
      return Status::invalid_data("must be real number, not {}", type_name(value));
    }
    const int64_t precision = how.precision < 0 ? 6 : how.precision;
    if (precision > kMostPrecision)
      return Status::invalid_data("a precision of {} is too large", precision);
    const double number = value.as_number();
    const std::string digits = format_magnitude(number, how.type, static_cast<int>(precision));
    pad(how, sign_of(how, std::signbit(number) && !std::isnan(number)), digits, how.is_zero);
    return Status::ok();
  }

  static std::string sign_of(const Directive& how, bool is_negative) {
    if (is_negative) return "-";
    return how.has_sign ? "+" : how.has_blank ? " " : "";
  }

  void pad(const Directive& how, std::string_view sign, std::string_view body, bool with_zeros) {
    const auto length = static_cast<int64_t>(sign.size() + count_code_points(body));
    const auto missing = static_cast<uint64_t>(std::max<int64_t>(how.width - length, 0));
    if (!how.is_left && !with_zeros) out_.repeat(" ", missing);
    out_.append(sign);
    if (!how.is_left && with_zeros) out_.repeat("0", missing);
    out_.append(body);
    if (how.is_left) out_.repeat(" ", missing);
  }

  Heap& heap_;
  TextBuilder out_;
  std::string_view text_;
  Value arguments_;
  bool is_markup_;
  size_t at_ = 0;
  size_t next_ = 0;
  Value named_;
};

}  // namespace

Result<Value> format_percent(Heap& heap, Value format, Value arguments) {
  return Printf(heap, format, arguments).run();
}

}  // namespace ingot::jinja
