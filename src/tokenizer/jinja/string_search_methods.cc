// SPDX-License-Identifier: Apache-2.0
// Methods of strings that look for something: find, count, startswith, and the splitting ones.
#include <algorithm>
#include <cstring>

#include "base/utf8.h"
#include "tokenizer/jinja/access.h"
#include "tokenizer/jinja/builtins.h"
#include "tokenizer/jinja/errors.h"
#include "tokenizer/jinja/interpreter.h"
#include "tokenizer/jinja/iterate.h"
#include "tokenizer/jinja/text_tools.h"
#include "tokenizer/jinja/unicode_text.h"

namespace ingot::jinja {
namespace {

constexpr size_t kNotFound = std::string_view::npos;

// The last occurrence that ends at or before `end`. Every comparison is paid for, since from the
// right no search is linear.
Result<size_t> find_last(Heap& heap, std::string_view text, std::string_view needle, size_t end) {
  if (needle.size() > end) return kNotFound;
  if (needle.empty()) return end;
  INGOT_TRY(heap.budget().copy(end));
  size_t at = end - needle.size() + 1;
  while (at > 0) {
    const void* candidate = memrchr(text.data(), needle[0], at);
    if (candidate == nullptr) return kNotFound;
    at = static_cast<size_t>(static_cast<const char*>(candidate) - text.data());
    INGOT_TRY(heap.budget().copy(needle.size() + 16));
    if (text.substr(at).starts_with(needle)) return at;
  }
  return kNotFound;
}

// The part of a string that start and end leave, and where it begins, in code points and bytes.
struct Window {
  std::string_view text;
  size_t begin_byte = 0;
  bool is_valid = true;  // start lies past the end: not even the empty string is found
};

Result<Window> window(Heap& heap, Value self, Value start, Value end) {
  if (start.is_absent() && end.is_absent()) return Window{.text = self.text()};
  INGOT_TRY(const int64_t length, jinja::length(heap, self));
  const Value from = start.is_absent() ? Value::none() : start;
  const Value to = end.is_absent() ? Value::none() : end;
  INGOT_TRY(const SliceBounds bounds, slice_bounds(heap, length, from, to, Value::none()));
  const size_t begin = byte_offset(self.string(), static_cast<size_t>(bounds.from));
  const size_t stop = byte_offset(self.string(), static_cast<size_t>(bounds.from + bounds.count));
  const bool is_past = from.is_integral() && from.as_integer() > length;
  return Window{.text = self.text().substr(begin, stop - begin),
                .begin_byte = begin,
                .is_valid = !is_past && bounds.to >= bounds.from};
}

template <bool kFromRight, bool kMustFind>
Result<Value> find(Interpreter& in, Value self, const Arguments& args) {
  Heap& heap = in.heap();
  INGOT_TRY(const std::string_view needle, expect_text(heap, args[0]));
  INGOT_TRY(const Window part, window(heap, self, args[1], args[2]));
  size_t found = kNotFound;
  if (part.is_valid && kFromRight) {
    INGOT_TRY(found, find_last(heap, part.text, needle, part.text.size()));
  } else if (part.is_valid) {
    INGOT_TRY(heap.budget().copy(part.text.size() + needle.size()));
    found = find_text(part.text, needle);
  }
  if (found == kNotFound) {
    if (kMustFind) return Status::invalid_data("substring not found");
    return Value::integer(-1);
  }
  const std::string_view before = self.text().substr(0, part.begin_byte + found);
  INGOT_TRY(heap.budget().copy(before.size()));
  return Value::integer(static_cast<int64_t>(count_code_points(before)));
}

Result<Value> count(Interpreter& in, Value self, const Arguments& args) {
  Heap& heap = in.heap();
  INGOT_TRY(const std::string_view needle, expect_text(heap, args[0]));
  INGOT_TRY(const Window part, window(heap, self, args[1], args[2]));
  if (!part.is_valid) return Value::integer(0);
  INGOT_TRY(heap.budget().copy(part.text.size()));
  if (needle.empty()) return Value::integer(static_cast<int64_t>(count_code_points(part.text)) + 1);
  int64_t times = 0;
  for (size_t at = find_text(part.text, needle); at != kNotFound;
       at = find_text(part.text, needle, at + needle.size())) {
    INGOT_TRY(heap.budget().copy(needle.size() + 16));
    ++times;
  }
  return Value::integer(times);
}

template <bool kAtFront>
Result<Value> has_affix(Interpreter& in, Value self, const Arguments& args) {
  Heap& heap = in.heap();
  INGOT_TRY(const Window part, window(heap, self, args[1], args[2]));
  std::span<const Value> candidates(&args.values[0], 1);
  if (args[0].is(Kind::kTuple)) candidates = args[0].items();
  for (const Value candidate : candidates) {
    INGOT_TRY(const std::string_view affix, expect_text(heap, candidate));
    INGOT_TRY(heap.budget().copy(affix.size() + 16));
    if (!part.is_valid) continue;
    if (kAtFront ? part.text.starts_with(affix) : part.text.ends_with(affix))
      return Value::boolean(true);
  }
  return Value::boolean(false);
}

// Words between spaces; at most `most` cuts, from the left.
Status split_spaces(Heap& heap, Value self, int64_t most, ListBuilder& parts) {
  INGOT_TRY(heap.budget().scan(self.text().size()));
  std::string_view rest = strip_left(self.text());
  while (!rest.empty() && !parts.has_failed()) {
    if (most == 0) {
      parts.push(heap.view(rest, self.is_markup()));
      break;
    }
    size_t end = 0;
    while (end < rest.size()) {
      const utf8::Decoded next = utf8::decode(rest.substr(end));
      if (is_space(next.code_point)) break;
      end += next.size;
    }
    parts.push(heap.view(rest.substr(0, end), self.is_markup()));
    rest = strip_left(rest.substr(end));
    if (most > 0) --most;
  }
  return parts.status();
}

// The same from the right; the parts come last first.
Status split_spaces_right(Heap& heap, Value self, int64_t most, ListBuilder& parts) {
  INGOT_TRY(heap.budget().scan(self.text().size()));
  std::string_view rest = strip_right(self.text());
  while (!rest.empty() && !parts.has_failed()) {
    if (most == 0) {
      parts.push(heap.view(rest, self.is_markup()));
      break;
    }
    size_t begin = rest.size();
    while (begin > 0) {
      const std::string_view last = last_character(rest.substr(0, begin));
      if (is_space(utf8::decode(last).code_point)) break;
      begin -= last.size();
    }
    parts.push(heap.view(rest.substr(begin), self.is_markup()));
    rest = strip_right(rest.substr(0, begin));
    if (most > 0) --most;
  }
  return parts.status();
}

Status split_text(Heap& heap, Value self, std::string_view separator, int64_t most,
                  ListBuilder& parts) {
  const std::string_view text = self.text();
  INGOT_TRY(heap.budget().copy(text.size()));
  size_t begin = 0;
  while (most != 0 && !parts.has_failed()) {
    const size_t end = find_text(text, separator, begin);
    if (end == kNotFound) break;
    INGOT_TRY(heap.budget().copy(separator.size() + 64));
    parts.push(heap.view(text.substr(begin, end - begin), self.is_markup()));
    begin = end + separator.size();
    if (most > 0) --most;
  }
  parts.push(heap.view(text.substr(begin), self.is_markup()));
  return parts.status();
}

Status split_text_right(Heap& heap, Value self, std::string_view separator, int64_t most,
                        ListBuilder& parts) {
  const std::string_view text = self.text();
  size_t end = text.size();
  while (most != 0 && !parts.has_failed()) {
    INGOT_TRY(const size_t begin, find_last(heap, text, separator, end));
    if (begin == kNotFound) break;
    parts.push(heap.view(text.substr(begin + separator.size(), end - begin - separator.size()),
                         self.is_markup()));
    end = begin;
    if (most > 0) --most;
  }
  parts.push(heap.view(text.substr(0, end), self.is_markup()));
  return parts.status();
}

template <bool kFromRight>
Result<Value> split(Interpreter& in, Value self, const Arguments& args) {
  Heap& heap = in.heap();
  int64_t most = -1;
  if (args.has(1)) {
    INGOT_TRY(most, expect_integer(heap, args[1]));
  }
  ListBuilder parts(heap);
  if (!args.has(0) || args[0].is_none()) {
    INGOT_TRY(kFromRight ? split_spaces_right(heap, self, most, parts)
                         : split_spaces(heap, self, most, parts));
  } else {
    INGOT_TRY(const std::string_view separator, expect_text(heap, args[0]));
    if (separator.empty()) return Status::invalid_data("empty separator");
    INGOT_TRY(kFromRight ? split_text_right(heap, self, separator, most, parts)
                         : split_text(heap, self, separator, most, parts));
  }
  if (kFromRight) std::ranges::reverse(parts.items());
  return parts.finish(Kind::kList);
}

Result<Value> splitlines(Interpreter& in, Value self, const Arguments& args) {
  std::vector<std::string_view> lines;
  INGOT_TRY(split_lines(in.heap(), self.text(), is_true(args[0]), lines));
  ListBuilder parts(in.heap());
  for (const std::string_view line : lines) {
    parts.push(in.heap().view(line, self.is_markup()));
    if (parts.has_failed()) break;
  }
  return parts.finish(Kind::kList);
}

template <bool kFromRight>
Result<Value> partition(Interpreter& in, Value self, const Arguments& args) {
  Heap& heap = in.heap();
  const std::string_view text = self.text();
  INGOT_TRY(const std::string_view separator, expect_text(heap, args[0]));
  if (separator.empty()) return Status::invalid_data("empty separator");
  INGOT_TRY(heap.budget().copy(text.size() + separator.size()));
  size_t found = kNotFound;
  if (kFromRight) {
    INGOT_TRY(found, find_last(heap, text, separator, text.size()));
  } else {
    found = find_text(text, separator);
  }
  std::string_view parts[3] = {text, {}, {}};
  if (found != kNotFound) {
    parts[0] = text.substr(0, found);
    parts[1] = separator;
    parts[2] = text.substr(found + separator.size());
  } else if (kFromRight) {
    std::swap(parts[0], parts[2]);
  }
  Value values[3];
  for (size_t i = 0; i < 3; ++i) {
    INGOT_TRY(values[i], heap.view(parts[i], self.is_markup()));
  }
  return heap.sequence(Kind::kTuple, values);
}

constexpr Builtin kSearchMethods[] = {
    {"count", "sub start? end?", count},
    {"endswith", "suffix start? end?", has_affix<false>},
    {"find", "sub start? end?", find<false, false>},
    {"index", "sub start? end?", find<false, true>},
    {"partition", "sep", partition<false>},
    {"rfind", "sub start? end?", find<true, false>},
    {"rindex", "sub start? end?", find<true, true>},
    {"rpartition", "sep", partition<true>},
    {"rsplit", "sep? maxsplit?", split<true>},
    {"split", "sep? maxsplit?", split<false>},
    {"splitlines", "keepends?", splitlines},
    {"startswith", "prefix start? end?", has_affix<true>},
};

}  // namespace

std::span<const Builtin> string_search_methods() {
  return kSearchMethods;
}

}  // namespace ingot::jinja
