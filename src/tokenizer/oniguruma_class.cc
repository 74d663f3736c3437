// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/oniguruma_class.h"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace ingot::tok::oniguruma {

namespace {

constexpr int kClassDepth = 16;
constexpr std::string_view kAnyCharacter = R"([\x{0}-\x{10ffff}])";

// A union of items and alternatives, each of which matches one character.
struct Union {
  std::string items;
  std::vector<std::string> alternatives;

  bool is_empty() const { return items.empty() && alternatives.empty(); }
  std::string regex() const {
    if (alternatives.empty()) return fmt::format("[{}]", items);
    std::string out = "(?:";
    if (!items.empty()) out += fmt::format("[{}]|", items);
    for (size_t i = 0; i < alternatives.size(); ++i) {
      if (i > 0) out += '|';
      out += alternatives[i];
    }
    return out + ")";
  }
  void add(const Items& set) {
    if (set.is_negated) {
      alternatives.push_back(bracket(set));
    } else {
      items += set.text;
    }
  }
};

Result<char32_t> class_char(PatternCursor& cursor) {
  if (cursor.is_at("\\")) {
    if (cursor.rest().size() < 2) return cursor.error("a backslash at the end");
    if (cursor.rest()[1] == 'b') {  // a backspace, inside brackets
      cursor.skip(2);
      return char32_t{8};
    }
    return cursor.escaped_char();
  }
  return cursor.take_char();
}

Result<std::string> translate(PatternCursor& cursor, int depth);

Status translate_item(PatternCursor& cursor, Union& out, int depth) {
  if (cursor.is_at("[:")) {
    const size_t end = cursor.rest().find(":]");
    if (end != std::string_view::npos) {
      std::string_view name = cursor.rest().substr(2, end - 2);
      const bool is_negated = name.starts_with('^');
      if (is_negated) name.remove_prefix(1);
      std::optional<Items> items = named_items(name, /*is_posix=*/true);
      if (!items) return cursor.error("an unknown property");
      items->is_negated = items->is_negated != is_negated;
      out.add(*items);
      cursor.skip(end + 2);
      return Status::ok();
    }
  }
  if (cursor.is_at("[")) {
    INGOT_TRY(std::string nested, translate(cursor, depth + 1));
    out.alternatives.push_back(std::move(nested));
    return Status::ok();
  }
  if (cursor.is_at("\\")) {
    if (cursor.rest().size() < 2) return cursor.error("a backslash at the end");
    INGOT_TRY(const std::optional<Items> set, cursor.escaped_set());
    if (set) {
      out.add(*set);
      return Status::ok();
    }
  }
  INGOT_TRY(const char32_t first, class_char(cursor));
  const std::string_view rest = cursor.rest();
  const bool is_range = rest.size() > 1 && rest[0] == '-' && rest[1] != ']' && rest[1] != '[' &&
                        !rest.starts_with("-&&");
  if (!is_range) {
    out.items += item_of(first);
    return Status::ok();
  }
  cursor.skip(1);
  INGOT_TRY(const char32_t last, class_char(cursor));
  if (last < first) return cursor.error("an empty range in a character class");
  out.items += item_of(first) + "-" + item_of(last);
  return Status::ok();
}

Result<std::string> translate(PatternCursor& cursor, int depth) {
  if (depth > kClassDepth) return cursor.error("classes are nested too deeply");
  cursor.skip(1);  // '['
  const bool is_negated = cursor.is_at("^");
  if (is_negated) cursor.skip(1);
  std::vector<Union> parts(1);  // intersected
  bool is_first = true;
  while (true) {
    if (cursor.is_at_end()) return cursor.error("an open character class");
    if (cursor.is_at("]") && !is_first) break;
    is_first = false;
    if (cursor.is_at("&&")) {
      cursor.skip(2);
      parts.emplace_back();
      continue;
    }
    INGOT_TRY(translate_item(cursor, parts.back(), depth));
  }
  cursor.skip(1);
  if (parts.back().is_empty()) return cursor.error("an empty character class");
  if (parts.size() == 1 && parts[0].alternatives.empty()) {
    return fmt::format("[{}{}]", is_negated ? "^" : "", parts[0].items);
  }
  std::string both = "(?:";
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    if (parts[i].is_empty()) return cursor.error("an empty character class");
    both += fmt::format("(?={})", parts[i].regex());
  }
  both += parts.back().regex() + ")";
  if (!is_negated) return both;
  return fmt::format("(?:(?!{}){})", both, kAnyCharacter);
}

}  // namespace

Result<std::string> translate_class(PatternCursor& cursor) {
  return translate(cursor, 0);
}

}  // namespace ingot::tok::oniguruma
