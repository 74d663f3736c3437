// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/oniguruma.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "base/utf8.h"

namespace ingot::tok {

namespace {

constexpr int kClassDepth = 16;
constexpr size_t kGroupDepth = 256;

// Bodies of character classes. White space is the White_Space property, which PCRE2's \s is not.
constexpr std::string_view kSpaceItems =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
constexpr std::string_view kWordItems =
    R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{24b6}-\x{24e9}\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189})";
// Outside of brackets Oniguruma looks Latin-1 characters up in a table that counts these as words.
constexpr std::string_view kLatinWordItems = R"(\x{b2}\x{b3}\x{b9}\x{bc}-\x{be})";
constexpr std::string_view kHexItems = "0-9A-Fa-f";
constexpr std::string_view kAnyCharacter = R"([\x{0}-\x{10ffff}])";

struct Name {
  std::string_view name;
  std::string_view items;
};

constexpr Name kNames[] = {
    {"alpha", R"(\p{Alphabetic})"},
    {"alphabetic", R"(\p{Alphabetic})"},
    {"digit", R"(\p{Nd})"},
    {"alnum", R"(\p{Alphabetic}\p{Nd})"},
    {"upper", R"(\p{Uppercase})"},
    {"uppercase", R"(\p{Uppercase})"},
    {"lower", R"(\p{Lowercase})"},
    {"lowercase", R"(\p{Lowercase})"},
    {"space", kSpaceItems},
    {"whitespace", kSpaceItems},
    {"blank", R"(\x{9}\p{Zs})"},
    {"cntrl", R"(\p{Cc})"},
    {"word", kWordItems},
    {"xdigit", kHexItems},
    {"ascii", R"(\x{0}-\x{7f})"},
    {"any", R"(\x{0}-\x{10ffff})"},
    {"letter", R"(\p{L})"},
    {"casedletter", R"(\p{L&})"},
    {"lc", R"(\p{L&})"},
    {"uppercaseletter", R"(\p{Lu})"},
    {"lowercaseletter", R"(\p{Ll})"},
    {"titlecaseletter", R"(\p{Lt})"},
    {"modifierletter", R"(\p{Lm})"},
    {"otherletter", R"(\p{Lo})"},
    {"mark", R"(\p{M})"},
    {"combiningmark", R"(\p{M})"},
    {"nonspacingmark", R"(\p{Mn})"},
    {"spacingmark", R"(\p{Mc})"},
    {"enclosingmark", R"(\p{Me})"},
    {"number", R"(\p{N})"},
    {"decimalnumber", R"(\p{Nd})"},
    {"letternumber", R"(\p{Nl})"},
    {"othernumber", R"(\p{No})"},
    {"punctuation", R"(\p{P})"},
    {"connectorpunctuation", R"(\p{Pc})"},
    {"dashpunctuation", R"(\p{Pd})"},
    {"openpunctuation", R"(\p{Ps})"},
    {"closepunctuation", R"(\p{Pe})"},
    {"initialpunctuation", R"(\p{Pi})"},
    {"finalpunctuation", R"(\p{Pf})"},
    {"otherpunctuation", R"(\p{Po})"},
    {"symbol", R"(\p{S})"},
    {"mathsymbol", R"(\p{Sm})"},
    {"currencysymbol", R"(\p{Sc})"},
    {"modifiersymbol", R"(\p{Sk})"},
    {"othersymbol", R"(\p{So})"},
    {"separator", R"(\p{Z})"},
    {"spaceseparator", R"(\p{Zs})"},
    {"lineseparator", R"(\p{Zl})"},
    {"paragraphseparator", R"(\p{Zp})"},
    {"other", R"(\p{C})"},
    {"control", R"(\p{Cc})"},
    {"format", R"(\p{Cf})"},
    {"unassigned", R"(\p{Cn})"},
    {"privateuse", R"(\p{Co})"},
    {"surrogate", R"(\p{Cs})"},
    {"emoji", R"(\p{Emoji})"},
    {"emojipresentation", R"(\p{Emoji_Presentation})"},
    {"extendedpictographic", R"(\p{Extended_Pictographic})"},
    {"ideographic", R"(\p{Ideographic})"},
    {"hexdigit", R"(\p{Hex_Digit})"},
    {"asciihexdigit", kHexItems},
    {"dash", R"(\p{Dash})"},
    {"math", R"(\p{Math})"},
};

// Part of a class: items for one bracket, or a complement that needs an alternative of its own.
struct Items {
  std::string text;
  bool is_negated = false;
};

bool is_alnum(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::string item_of(char32_t code_point) {
  return fmt::format("\\x{{{:x}}}", static_cast<uint32_t>(code_point));
}

std::string bracket(const Items& items) {
  return fmt::format("[{}{}]", items.is_negated ? "^" : "", items.text);
}

class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern) {}

  Result<std::string> run() {
    while (at_ < pattern_.size())
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

  Status error(std::string_view what) const {
    return Status::unsupported("regular expression, offset {}: {}", at_, what);
  }
  bool is_at(std::string_view text) const { return pattern_.substr(at_).starts_with(text); }
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
    const char c = pattern_[at_];
    switch (c) {
      case '\\':
        begin_atom();
        return escape();
      case '[': {
        begin_atom();
        INGOT_TRY(const std::string set, char_class(0));
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
        out_ += c;
        ++at_;
        return Status::ok();
      default: {
        begin_atom();
        const size_t size = utf8::decode(pattern_.substr(at_)).size;
        out_ += pattern_.substr(at_, size);
        at_ += size;
        return Status::ok();
      }
    }
  }

  Status quantifier() {
    if (!has_atom_) return error("nothing to repeat");
    if (is_quantified_) wrap_atom();
    out_ += pattern_[at_++];
    if (at_ < pattern_.size() && (pattern_[at_] == '?' || pattern_[at_] == '+')) {
      out_ += pattern_[at_++];  // lazy or possessive
    }
    is_quantified_ = true;
    return Status::ok();
  }

  // {n}, {n,}, {n,m} and {,m}. A '+' behind it repeats (it is not possessive here), and {n}? is an
  // optional {n}.
  Status interval() {
    size_t end = at_ + 1;
    const auto number = [&] {
      const size_t first = end;
      while (end < pattern_.size() && pattern_[end] >= '0' && pattern_[end] <= '9')
        ++end;
      return pattern_.substr(first, end - first);
    };
    const std::string_view low = number();
    const bool has_comma = end < pattern_.size() && pattern_[end] == ',';
    if (has_comma) ++end;
    const std::string_view high = has_comma ? number() : low;
    const bool is_interval =
        end < pattern_.size() && pattern_[end] == '}' && !(low.empty() && high.empty());
    if (!is_interval) {
      begin_atom();
      out_ += "\\{";
      ++at_;
      return Status::ok();
    }
    if (!has_atom_) return error("nothing to repeat");
    if (is_quantified_) wrap_atom();
    at_ = end + 1;
    const std::string_view least = low.empty() ? "0" : low;
    out_ += has_comma ? fmt::format("{{{},{}}}", least, high) : fmt::format("{{{}}}", least);
    is_quantified_ = true;
    if (at_ < pattern_.size() && pattern_[at_] == '?') {
      if (has_comma) {
        out_ += '?';
      } else {
        wrap_atom();
        out_ += '?';
      }
      ++at_;
    }
    return Status::ok();
  }

  Status open_group() {
    if (groups_.size() >= kGroupDepth) return error("groups are nested too deeply");
    if (is_at("(?#")) {
      const size_t end = pattern_.find(')', at_);
      if (end == std::string_view::npos) return error("an open comment");
      at_ = end + 1;
      return Status::ok();
    }
    const size_t begin = out_.size();
    if (!is_at("(?")) {
      out_ += '(';
      ++at_;
    } else {
      static constexpr std::string_view kSame[] = {"(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!"};
      const auto* same = std::find_if(std::begin(kSame), std::end(kSame),
                                      [&](std::string_view opening) { return is_at(opening); });
      if (same != std::end(kSame)) {
        out_ += *same;
        at_ += same->size();
      } else if (is_at("(?<")) {
        const size_t end = pattern_.find('>', at_);
        if (end == std::string_view::npos) return error("an open group name");
        out_ += pattern_.substr(at_, end + 1 - at_);
        at_ = end + 1;
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
    out_ += "(?";
    at_ += 2;
    while (at_ < pattern_.size()) {
      const char c = pattern_[at_++];
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
    ++at_;
    return Status::ok();
  }

  Status escape() {
    if (at_ + 1 >= pattern_.size()) return error("a backslash at the end");
    const char c = pattern_[at_ + 1];
    if (c == 'w' || c == 'W') {
      out_ += fmt::format("[{}{}{}]", c == 'W' ? "^" : "", kWordItems, kLatinWordItems);
      at_ += 2;
      return Status::ok();
    }
    if (c == 'b' || c == 'B') {
      const std::string word = fmt::format("[{}{}]", kWordItems, kLatinWordItems);
      out_ += c == 'b' ? fmt::format("(?:(?<={0})(?!{0})|(?<!{0})(?={0}))", word)
                       : fmt::format("(?:(?<={0})(?={0})|(?<!{0})(?!{0}))", word);
      at_ += 2;
      return Status::ok();
    }
    if (std::string_view("AzZGKRXN").find(c) != std::string_view::npos || (c >= '1' && c <= '9')) {
      out_ += pattern_.substr(at_, 2);
      at_ += 2;
      return Status::ok();
    }
    if (c == 'k') {
      const size_t end = pattern_.find('>', at_);
      if (end == std::string_view::npos) return error("an open group name");
      out_ += pattern_.substr(at_, end + 1 - at_);
      at_ = end + 1;
      return Status::ok();
    }
    INGOT_TRY(const std::optional<Items> set, escaped_set());
    if (set) {
      out_ += bracket(*set);
      return Status::ok();
    }
    INGOT_TRY(const char32_t code_point, escaped_char());
    out_ += item_of(code_point);
    return Status::ok();
  }

  // \s \d \w \h \p{..} and their complements; nothing (and nothing consumed) for other escapes.
  Result<std::optional<Items>> escaped_set() {
    const char c = pattern_[at_ + 1];
    std::string_view items;
    switch (c) {
      case 's':
      case 'S':
        items = kSpaceItems;
        break;
      case 'd':
      case 'D':
        items = R"(\p{Nd})";
        break;
      case 'w':
      case 'W':
        items = kWordItems;
        break;
      case 'h':
      case 'H':
        items = kHexItems;
        break;
      case 'p':
      case 'P':
        return property(c == 'P');
      default:
        return std::optional<Items>();
    }
    at_ += 2;
    return std::optional(Items{std::string(items), c >= 'A' && c <= 'Z'});
  }

  Result<std::optional<Items>> property(bool is_negated) {
    const size_t open = at_ + 2;
    const size_t close = pattern_.find('}', open);
    if (open >= pattern_.size() || pattern_[open] != '{' || close == std::string_view::npos) {
      return error("\\p needs a name in braces");
    }
    std::string_view name = pattern_.substr(open + 1, close - open - 1);
    if (name.starts_with('^')) {
      is_negated = !is_negated;
      name.remove_prefix(1);
    }
    INGOT_TRY(Items items, named(name, /*is_posix=*/false));
    items.is_negated = items.is_negated != is_negated;
    at_ = close + 1;
    return std::optional(std::move(items));
  }

  Result<Items> named(std::string_view name, bool is_posix) const {
    std::string key;
    for (const char c : name) {
      if (c == ' ' || c == '_' || c == '-') continue;
      if (!is_alnum(c)) return error("an unknown property");
      key += (c >= 'A' && c <= 'Z') ? static_cast<char>(c - 'A' + 'a') : c;
    }
    if (key.empty()) return error("an unknown property");
    if (key == "punct") return Items{is_posix ? R"(\p{P}\p{S})" : R"(\p{P})"};
    if (key == "graph")
      return Items{fmt::format(R"(\p{{Cc}}\p{{Cn}}\p{{Cs}}{})", kSpaceItems), true};
    if (key == "print") return Items{R"(\p{Cc}\p{Cn}\p{Cs})", true};
    for (const Name& known : kNames) {
      if (known.name == key) return Items{std::string(known.items)};
    }
    if (key.size() <= 2 && std::string_view("lmnpszc").find(key[0]) != std::string_view::npos) {
      key[0] = static_cast<char>(key[0] - 'a' + 'A');
      return Items{fmt::format("\\p{{{}}}", key)};
    }
    return Items{fmt::format("\\p{{sc:{}}}", key)};  // a script; PCRE2 knows whether it exists
  }

  // One character behind a backslash.
  Result<char32_t> escaped_char() {
    const char c = pattern_[at_ + 1];
    at_ += 2;
    switch (c) {
      case 't':
        return U'\t';
      case 'n':
        return U'\n';
      case 'r':
        return U'\r';
      case 'f':
        return U'\f';
      case 'v':
        return U'\v';
      case 'a':
        return U'\a';
      case 'e':
        return char32_t{0x1B};
      case '0':
        return char32_t{0};
      case 'u':
        return hex_char(4, 4);
      case 'x':
        if (at_ < pattern_.size() && pattern_[at_] == '{') {
          ++at_;
          INGOT_TRY(const char32_t code_point, hex_char(1, 8));
          if (at_ >= pattern_.size() || pattern_[at_] != '}') return error("an open \\x{");
          ++at_;
          return code_point;
        }
        return hex_char(1, 2);
      default:
        break;
    }
    if (is_alnum(c)) return error("an unknown escape");
    const utf8::Decoded decoded = utf8::decode(pattern_.substr(at_ - 1));
    at_ += decoded.size - 1U;
    return decoded.code_point;
  }

  Result<char32_t> hex_char(size_t least, size_t most) {
    const std::string_view digits = pattern_.substr(at_, most);
    uint32_t value = 0;
    const auto [end, problem] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    const auto count = static_cast<size_t>(end - digits.data());
    if (problem != std::errc() || count < least || value > 0x10FFFF) {
      return error("a malformed hexadecimal escape");
    }
    at_ += count;
    return static_cast<char32_t>(value);
  }

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

  Result<std::string> char_class(int depth) {
    if (depth > kClassDepth) return error("classes are nested too deeply");
    ++at_;  // '['
    const bool is_negated = is_at("^");
    if (is_negated) ++at_;
    std::vector<Union> parts(1);  // intersected
    bool is_first = true;
    while (true) {
      if (at_ >= pattern_.size()) return error("an open character class");
      if (pattern_[at_] == ']' && !is_first) break;
      is_first = false;
      if (is_at("&&")) {
        at_ += 2;
        parts.emplace_back();
        continue;
      }
      INGOT_TRY(class_item(parts.back(), depth));
    }
    ++at_;
    if (parts.back().is_empty()) return error("an empty character class");
    if (parts.size() == 1 && parts[0].alternatives.empty()) {
      return fmt::format("[{}{}]", is_negated ? "^" : "", parts[0].items);
    }
    std::string both = "(?:";
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      if (parts[i].is_empty()) return error("an empty character class");
      both += fmt::format("(?={})", parts[i].regex());
    }
    both += parts.back().regex() + ")";
    if (!is_negated) return both;
    return fmt::format("(?:(?!{}){})", both, kAnyCharacter);
  }

  Status class_item(Union& out, int depth) {
    if (is_at("[:")) {
      const size_t end = pattern_.find(":]", at_);
      if (end != std::string_view::npos) {
        std::string_view name = pattern_.substr(at_ + 2, end - at_ - 2);
        const bool is_negated = name.starts_with('^');
        if (is_negated) name.remove_prefix(1);
        INGOT_TRY(Items items, named(name, /*is_posix=*/true));
        items.is_negated = items.is_negated != is_negated;
        out.add(items);
        at_ = end + 2;
        return Status::ok();
      }
    }
    if (pattern_[at_] == '[') {
      INGOT_TRY(std::string nested, char_class(depth + 1));
      out.alternatives.push_back(std::move(nested));
      return Status::ok();
    }
    if (pattern_[at_] == '\\') {
      if (at_ + 1 >= pattern_.size()) return error("a backslash at the end");
      INGOT_TRY(const std::optional<Items> set, escaped_set());
      if (set) {
        out.add(*set);
        return Status::ok();
      }
    }
    INGOT_TRY(const char32_t first, class_char());
    const bool is_range = is_at("-") && at_ + 1 < pattern_.size() && pattern_[at_ + 1] != ']' &&
                          pattern_[at_ + 1] != '[' && !is_at("-&&");
    if (!is_range) {
      out.items += item_of(first);
      return Status::ok();
    }
    ++at_;
    INGOT_TRY(const char32_t last, class_char());
    if (last < first) return error("an empty range in a character class");
    out.items += item_of(first) + "-" + item_of(last);
    return Status::ok();
  }

  Result<char32_t> class_char() {
    if (pattern_[at_] == '\\') {
      if (at_ + 1 >= pattern_.size()) return error("a backslash at the end");
      if (pattern_[at_ + 1] == 'b') {  // a backspace, inside brackets
        at_ += 2;
        return char32_t{8};
      }
      return escaped_char();
    }
    const utf8::Decoded decoded = utf8::decode(pattern_.substr(at_));
    at_ += decoded.size;
    return decoded.code_point;
  }

  std::string_view pattern_;
  size_t at_ = 0;
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
