// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/oniguruma.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "tokenizer/oniguruma_class.h"
#include "tokenizer/oniguruma_cursor.h"
#include "tokenizer/oniguruma_items.h"

namespace ingot::tok {

namespace {

constexpr size_t kGroupDepth = 256;

class Translator {
 public:
  explicit Translator(std::string_view pattern) : cursor_(pattern) {}

  Result<std::string> run() {
    while (!cursor_.is_at_end())
      INGOT_TRY(element());
    if (!groups_.empty()) return error("an open group");
    out_.append(isolated_options_, ')');
    return std::move(out_);
  }

 private:
  struct Group {
    size_t begin;             // in out_
    size_t isolated_options;  // groups opened by a bare (?i) further out
  };

  Status error(std::string_view what) const { return cursor_.error(what); }
  void begin_atom() {
    atom_ = out_.size();
    has_atom_ = true;
    is_quantified_ = false;
  }
  // Turns the last atom with its quantifiers into one group, so that another quantifier can follow.
  void wrap_atom() {
    out_.insert(atom_, "(?:");
    out_ += ')';
  }

  Status element() {
    const char c = cursor_.rest()[0];
    switch (c) {
      case '\\':
        begin_atom();
        return escape();
      case '[': {
        begin_atom();
        INGOT_TRY(const std::string set, oniguruma::translate_class(cursor_));
        out_ += set;
        return Status::ok();
      }
      case '(':
        return open_group();
      case ')':
        return close_group();
      case '*':
      case '+':
      case '?':
        return quantifier();
      case '{':
        return interval();
      case '|':
        has_atom_ = false;
        out_ += cursor_.take(1);
        return Status::ok();
      default:
        begin_atom();
        out_ += cursor_.take(utf8::decode(cursor_.rest()).size);
        return Status::ok();
    }
  }

  Status quantifier() {
    if (!has_atom_) return error("nothing to repeat");
    if (is_quantified_) wrap_atom();
    out_ += cursor_.take(1);
    if (cursor_.is_at("?") || cursor_.is_at("+")) out_ += cursor_.take(1);  // lazy or possessive
    is_quantified_ = true;
    return Status::ok();
  }

  // {n}, {n,}, {n,m} and {,m}. A '+' behind it repeats (it is not possessive here), and {n}? is an
  // optional {n}.
  Status interval() {
    const std::string_view rest = cursor_.rest();
    size_t end = 1;
    const auto number = [&] {
      const size_t first = end;
      while (end < rest.size() && rest[end] >= '0' && rest[end] <= '9')
        ++end;
      return rest.substr(first, end - first);
    };
    const std::string_view low = number();
    const bool has_comma = end < rest.size() && rest[end] == ',';
    if (has_comma) ++end;
    const std::string_view high = has_comma ? number() : low;
    const bool is_interval =
        end < rest.size() && rest[end] == '}' && !(low.empty() && high.empty());
    if (!is_interval) {
      begin_atom();
      out_ += "\\{";
      cursor_.skip(1);
      return Status::ok();
    }
    if (!has_atom_) return error("nothing to repeat");
    if (is_quantified_) wrap_atom();
    cursor_.skip(end + 1);
    const std::string_view least = low.empty() ? "0" : low;
    out_ += has_comma ? fmt::format("{{{},{}}}", least, high) : fmt::format("{{{}}}", least);
    is_quantified_ = true;
    if (cursor_.is_at("?")) {
      if (!has_comma) wrap_atom();
      out_ += cursor_.take(1);
    }
    return Status::ok();
  }

  Status open_group() {
    if (groups_.size() >= kGroupDepth) return error("groups are nested too deeply");
    if (cursor_.is_at("(?#")) {
      return cursor_.take_through(")") ? Status::ok() : error("an open comment");
    }
    const size_t begin = out_.size();
    if (!cursor_.is_at("(?")) {
      out_ += cursor_.take(1);
    } else {
      static constexpr std::string_view kSame[] = {"(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!"};
      const auto* same =
          std::find_if(std::begin(kSame), std::end(kSame),
                       [&](std::string_view opening) { return cursor_.is_at(opening); });
      if (same != std::end(kSame)) {
        out_ += cursor_.take(same->size());
      } else if (cursor_.is_at("(?<")) {
        const std::optional<std::string_view> opening = cursor_.take_through(">");
        if (!opening) return error("an open group name");
        out_ += *opening;
      } else {
        INGOT_TRY(const bool is_isolated, group_options());
        if (is_isolated) return Status::ok();
      }
    }
    groups_.push_back({begin, isolated_options_});
    isolated_options_ = 0;
    has_atom_ = false;
    return Status::ok();
  }

  // (?im-x: opens a group; a bare (?im-x) holds to the end of the group it stands in, alternatives
  // included, so it opens one too. Here `m` lets the dot match newlines.
  Result<bool> group_options() {
    out_ += cursor_.take(2);
    while (!cursor_.is_at_end()) {
      const char c = cursor_.take(1)[0];
      if (c == 'i' || c == 'x' || c == '-') {
        out_ += c;
      } else if (c == 'm') {
        out_ += 's';
      } else if (c == ':') {
        out_ += ':';
        return false;
      } else if (c == ')') {
        out_ += ':';
        ++isolated_options_;
        has_atom_ = false;
        return true;
      } else {
        return error("an unknown group option");
      }
    }
    return error("an open group");
  }

  Status close_group() {
    if (groups_.empty()) return error("')' without '('");
    out_.append(isolated_options_ + 1, ')');
    atom_ = groups_.back().begin;
    isolated_options_ = groups_.back().isolated_options;
    groups_.pop_back();
    has_atom_ = true;
    is_quantified_ = false;
    cursor_.skip(1);
    return Status::ok();
  }

  Status escape() {
    if (cursor_.rest().size() < 2) return error("a backslash at the end");
    const char c = cursor_.rest()[1];
    if (c == 'w' || c == 'W') {
      out_ += fmt::format("[{}{}{}]", c == 'W' ? "^" : "", oniguruma::kWordItems,
                          oniguruma::kLatinWordItems);
      cursor_.skip(2);
      return Status::ok();
    }
    if (c == 'b' || c == 'B') {
      const std::string word =
          fmt::format("[{}{}]", oniguruma::kWordItems, oniguruma::kLatinWordItems);
      out_ += c == 'b' ? fmt::format("(?:(?<={0})(?!{0})|(?<!{0})(?={0}))", word)
                       : fmt::format("(?:(?<={0})(?={0})|(?<!{0})(?!{0}))", word);
      cursor_.skip(2);
      return Status::ok();
    }
    if (std::string_view("AzZGKRXN").find(c) != std::string_view::npos || (c >= '1' && c <= '9')) {
      out_ += cursor_.take(2);
      return Status::ok();
    }
    if (c == 'k') {
      const std::optional<std::string_view> reference = cursor_.take_through(">");
      if (!reference) return error("an open group name");
      out_ += *reference;
      return Status::ok();
    }
    INGOT_TRY(const std::optional<oniguruma::Items> set, cursor_.escaped_set());
    if (set) {
      out_ += oniguruma::bracket(*set);
      return Status::ok();
    }
    INGOT_TRY(const char32_t code_point, cursor_.escaped_char());
    out_ += oniguruma::item_of(code_point);
    return Status::ok();
  }

  oniguruma::PatternCursor cursor_;
  std::string out_;
  std::vector<Group> groups_;
  size_t isolated_options_ = 0;
  size_t atom_ = 0;  // where the last atom begins in out_
  bool has_atom_ = false;
  bool is_quantified_ = false;
};

}  // namespace

Result<std::string> pcre_from_oniguruma(std::string_view pattern) {
  return Translator(pattern).run();
}

}  // namespace ingot::tok
