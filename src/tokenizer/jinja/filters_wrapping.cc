// SPDX-License-Identifier: Apache-2.0
// wordwrap: text broken into lines of a width, as Python's textwrap does it for words, spaces and
// hyphenated words (long dashes are not a place to break here).
#include <algorithm>

#include "base/utf8.h"
#include "tokenizer/jinja/builtins.h"
#include "tokenizer/jinja/errors.h"
#include "tokenizer/jinja/interpreter.h"
#include "tokenizer/jinja/text_tools.h"
#include "tokenizer/jinja/unicode_text.h"

namespace ingot::jinja {
namespace {

struct Chunk {
  std::string_view text;
  int64_t length;
};

// textwrap's spaces are ASCII.
bool is_wrap_space(char c) {
  return c == ' ' || (c >= 0x09 && c <= 0x0D);
}

bool is_letter_at(std::string_view text, size_t at) {
  return at < text.size() && is_alpha(utf8::decode(text.substr(at)).code_point);
}

// Whether a word may be cut behind its hyphen at `at`: two word characters before it, two after.
bool is_hyphen_break(std::string_view word, size_t at) {
  if (word[at] != '-' || at < 2) return false;
  const std::string_view before = word.substr(0, at);
  const std::string_view last = last_character(before);
  if (!is_letter_at(last, 0) || before.size() == last.size()) return false;
  const std::string_view second = last_character(before.substr(0, before.size() - last.size()));
  if (!is_alnum(utf8::decode(second).code_point)) return false;
  if (!is_letter_at(word, at + 1)) return false;
  return is_letter_at(word, at + 1 + first_character(word.substr(at + 1)).size());
}

std::vector<Chunk> chunks_of(std::string_view line, bool breaks_hyphens) {
  std::vector<Chunk> chunks;
  const auto add = [&](std::string_view text) {
    if (!text.empty()) chunks.push_back({text, static_cast<int64_t>(count_code_points(text))});
  };
  for (size_t at = 0; at < line.size();) {
    size_t end = at;
    const bool is_blank = is_wrap_space(line[at]);
    while (end < line.size() && is_wrap_space(line[end]) == is_blank)
      ++end;
    size_t begin = at;
    for (size_t i = at; !is_blank && breaks_hyphens && i < end; ++i) {
      if (!is_hyphen_break(line.substr(at, end - at), i - at)) continue;
      add(line.substr(begin, i + 1 - begin));
      begin = i + 1;
    }
    add(line.substr(begin, end - begin));
    at = end;
  }
  return chunks;
}

struct Wrapping {
  int64_t width;
  bool breaks_long;
  bool breaks_hyphens;
  std::string_view separator;
};

bool is_blank(std::string_view text) {
  return text.empty() || is_wrap_space(text[0]);
}

// What fits of a word longer than a line: up to `room` characters, cut behind a hyphen where one is
// there.
std::string_view front_of_word(const Chunk& chunk, int64_t room, bool breaks_hyphens) {
  StringObject text{.bytes = chunk.text};
  const std::string_view front = chunk.text.substr(0, byte_offset(text, static_cast<size_t>(room)));
  const size_t hyphen = breaks_hyphens ? front.rfind('-') : std::string_view::npos;
  if (hyphen == std::string_view::npos || hyphen == 0) return front;
  const bool is_only_hyphens = front.find_first_not_of('-') >= hyphen;
  return is_only_hyphens ? front : front.substr(0, hyphen + 1);
}

// One paragraph. A line drops the spaces at its end, and at its beginning unless it is the first.
// As in textwrap, a long word that leaves nothing on the line protects the spaces before it.
void wrap_line(TextBuilder& out, std::string_view line, const Wrapping& wrapping) {
  std::vector<Chunk> chunks = chunks_of(line, wrapping.breaks_hyphens);
  std::ranges::reverse(chunks);
  bool has_lines = false;
  while (!chunks.empty() && !out.has_failed()) {
    std::vector<std::string_view> current;
    int64_t length = 0;
    if (has_lines && is_blank(chunks.back().text)) chunks.pop_back();
    while (!chunks.empty() && length + chunks.back().length <= wrapping.width) {
      length += chunks.back().length;
      current.push_back(chunks.back().text);
      chunks.pop_back();
    }
    if (!chunks.empty() && chunks.back().length > wrapping.width) {
      Chunk& chunk = chunks.back();
      if (wrapping.breaks_long) {
        const std::string_view front =
            front_of_word(chunk, wrapping.width - length, wrapping.breaks_hyphens);
        current.push_back(front);
        chunk.length -= static_cast<int64_t>(count_code_points(front));
        chunk.text.remove_prefix(front.size());
      } else if (current.empty()) {
        current.push_back(chunk.text);
        chunks.pop_back();
      }
    }
    if (!current.empty() && is_blank(current.back())) current.pop_back();
    if (current.empty()) continue;
    if (has_lines) out.append(wrapping.separator);
    has_lines = true;
    for (const std::string_view part : current)
      out.append(part);
  }
}

Result<Value> wordwrap(Interpreter& in, Value self, const Arguments& args) {
  Heap& heap = in.heap();
  INGOT_TRY(const std::string_view text, expect_text(heap, self));
  Wrapping wrapping{.width = 79,
                    .breaks_long = !args.has(1) || is_true(args[1]),
                    .breaks_hyphens = !args.has(3) || is_true(args[3]),
                    .separator = "\n"};
  if (args.has(0)) {
    INGOT_TRY(wrapping.width, expect_integer(heap, args[0]));
  }
  if (wrapping.width <= 0)
    return Status::invalid_data("invalid width {} (must be > 0)", wrapping.width);
  if (args.has(2) && !args[2].is_none()) {
    INGOT_TRY(wrapping.separator, expect_text(heap, args[2]));
  }
  std::vector<std::string_view> lines;
  INGOT_TRY(split_lines(heap, text, false, lines));
  INGOT_TRY(heap.budget().scan(4 * text.size()));
  INGOT_TRY(heap.budget().reserve(text.size() * sizeof(Chunk)));  // chunks, at their most
  TextBuilder out(heap);
  for (size_t i = 0; i < lines.size() && !out.has_failed(); ++i) {
    if (i > 0) out.append(wrapping.separator);
    wrap_line(out, lines[i], wrapping);
  }
  return out.finish();
}

constexpr Builtin kWrappingFilters[] = {
    {"wordwrap", "width? break_long_words? wrapstring? break_on_hyphens?", wordwrap},
};

}  // namespace

std::span<const Builtin> wrapping_filters() {
  return kWrappingFilters;
}

}  // namespace ingot::jinja
