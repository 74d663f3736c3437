// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/jinja/text_tools.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/utf8.h"
#include "tokenizer/jinja/errors.h"
#include "tokenizer/jinja/unicode_text.h"

namespace ingot::jinja {

Status split_lines(Heap& heap, std::string_view text, bool keeps_ends,
                   std::vector<std::string_view>& lines) {
  INGOT_TRY(heap.budget().scan(text.size()));
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const utf8::Decoded next = utf8::decode(text.substr(at));
    const size_t end = at;
    at += next.size;
    if (!is_line_break(next.code_point)) continue;
    if (next.code_point == '\r' && at < text.size() && text[at] == '\n') ++at;
    INGOT_TRY(heap.budget().reserve(2 * sizeof(std::string_view)));
    lines.push_back(text.substr(begin, (keeps_ends ? at : end) - begin));
    begin = at;
  }
  if (begin < text.size()) lines.push_back(text.substr(begin));
  return Status::ok();
}

Result<Value> strip(Heap& heap, Value text, Value chars, bool at_left, bool at_right) {
  std::string_view rest = text.text();
  INGOT_TRY(heap.budget().copy(rest.size()));
  if (chars.is_absent() || chars.is_none()) {
    if (at_left) rest = strip_left(rest);
    if (at_right) rest = strip_right(rest);
  } else {
    INGOT_TRY(const std::string_view set, expect_text(heap, chars));
    INGOT_TRY(heap.budget().scan(set.size()));
    if (at_left) rest = strip_left(rest, set);
    if (at_right) rest = strip_right(rest, set);
  }
  if (rest.size() == text.text().size()) return text;
  return heap.view(rest, text.is_markup());
}

Result<Value> replaced(Heap& heap, Value text, std::string_view from, std::string_view to,
                       int64_t count) {
  const std::string_view whole = text.text();
  INGOT_TRY(heap.budget().copy(whole.size() + from.size()));
  TextBuilder out(heap);
  size_t copied = 0;
  size_t at = 0;
  while (count != 0 && !out.has_failed()) {
    const size_t found = find_text(whole, from, at);
    if (found == std::string_view::npos) break;
    // A long needle is prepared anew for each search; a short one costs about half a step.
    out.fail(heap.budget().copy(from.size() + 128));
    out.append(whole.substr(copied, found - copied));
    out.append(to);
    copied = found + from.size();
    at = copied;
    if (from.empty()) {  // between all characters, and at both ends
      if (at >= whole.size()) break;
      at += first_character(whole.substr(at)).size();
    }
    if (count > 0) --count;
  }
  out.append(whole.substr(copied));
  return out.finish(text.is_markup());
}

Result<Value> cased(Heap& heap, Value text, int how) {
  TextBuilder out(heap);
  append_cased(out, text.text(), static_cast<Case>(how));
  return out.finish(text.is_markup());
}

Result<Value> padded(Heap& heap, Value text, int64_t width, std::string_view fill, Align align) {
  INGOT_TRY(heap.budget().copy(text.text().size()));
  const auto length = static_cast<int64_t>(length_of(text.string()));
  if (width <= length) return text;
  if (count_code_points(fill) != 1) {
    return Status::invalid_data("The fill character must be exactly one character long");
  }
  const int64_t pad = width - length;
  int64_t left = 0;
  if (align == Align::kRight) left = pad;
  if (align == Align::kCenter) left = pad / 2 + (pad & width & 1);
  TextBuilder out(heap);
  out.repeat(fill, static_cast<uint64_t>(left));
  out.append(text.text());
  out.repeat(fill, static_cast<uint64_t>(pad - left));
  return out.finish(text.is_markup());
}

Result<Value> without_case(Heap& heap, Value value) {
  if (!value.is_string()) return value;
  return cased(heap, value, static_cast<int>(Case::kLower));
}

Result<std::optional<int64_t>> parse_integer(std::string_view text, int base) {
  constexpr std::optional<int64_t> kNone;
  text = strip_right(strip_left(text));
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  if (base != 0 && (base < 2 || base > 36)) return kNone;
  if (text.size() > 1 && text[0] == '0') {
    const char marker = static_cast<char>(text[1] | 0x20);
    const int prefix_base = marker == 'x' ? 16 : marker == 'o' ? 8 : marker == 'b' ? 2 : 0;
    if (prefix_base != 0 && (base == 0 || base == prefix_base)) {
      base = prefix_base;
      text.remove_prefix(2);
      if (text.starts_with('_')) text.remove_prefix(1);
    } else if (base == 0 && text.find_first_not_of("0_") != std::string_view::npos) {
      return kNone;
    }
  }
  if (base == 0) base = 10;
  std::string digits = is_negative ? "-" : "";
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      digits += text[i];
    } else if (i == 0 || i + 1 == text.size() || text[i + 1] == '_') {
      return kNone;
    }
  }
  int64_t value = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (read.ptr != digits.data() + digits.size() || read.ec == std::errc::invalid_argument ||
      text.empty() || text[0] == '-') {
    return kNone;
  }
  if (read.ec != std::errc()) return Status::invalid_data("an integer does not fit in 64 bits");
  return std::optional(value);
}

std::optional<double> parse_float(std::string_view text) {
  text = strip_right(strip_left(text));
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c != '_') {
      plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      continue;
    }
    const bool is_between = i > 0 && i + 1 < text.size() && text[i - 1] >= '0' &&
                            text[i - 1] <= '9' && text[i + 1] >= '0' && text[i + 1] <= '9';
    if (!is_between) return std::nullopt;
  }
  double value = 0;
  if (plain == "inf" || plain == "infinity") {
    value = std::numeric_limits<double>::infinity();
  } else if (plain == "nan") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else {
    if (plain.empty() || plain.find_first_not_of("0123456789.e+-") != std::string::npos ||
        plain[0] == '-') {
      return std::nullopt;
    }
    const auto read = std::from_chars(plain.data(), plain.data() + plain.size(), value);
    if (read.ptr != plain.data() + plain.size() || read.ec == std::errc::invalid_argument)
      return std::nullopt;
    if (read.ec == std::errc::result_out_of_range) {
      value = plain.find("e-") != std::string::npos ? 0 : std::numeric_limits<double>::infinity();
    }
  }
  return is_negative ? -value : value;
}

}  // namespace ingot::jinja
