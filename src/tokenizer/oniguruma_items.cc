// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/oniguruma_items.h"

#include <fmt/format.h>

#include <cstdint>

namespace ingot::tok::oniguruma {

namespace {

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

}  // namespace

std::string item_of(char32_t code_point) {
  return fmt::format("\\x{{{:x}}}", static_cast<uint32_t>(code_point));
}

std::string bracket(const Items& items) {
  return fmt::format("[{}{}]", items.is_negated ? "^" : "", items.text);
}

std::optional<Items> named_items(std::string_view name, bool is_posix) {
  std::string key;
  for (const char c : name) {
    if (c == ' ' || c == '_' || c == '-') continue;
    if (!is_ascii_alnum(c)) return std::nullopt;
    key += (c >= 'A' && c <= 'Z') ? static_cast<char>(c - 'A' + 'a') : c;
  }
  if (key.empty()) return std::nullopt;
  if (key == "punct") return Items{is_posix ? R"(\p{P}\p{S})" : R"(\p{P})"};
  if (key == "graph") return Items{fmt::format(R"(\p{{Cc}}\p{{Cn}}\p{{Cs}}{})", kSpaceItems), true};
  if (key == "print") return Items{R"(\p{Cc}\p{Cn}\p{Cs})", true};
  for (const Name& known : kNames) {
    if (known.name == key) return Items{std::string(known.items)};
  }
  if (key.size() <= 2 && std::string_view("lmnpszc").find(key[0]) != std::string_view::npos) {
    key[0] = static_cast<char>(key[0] - 'a' + 'A');
    return Items{fmt::format("\\p{{{}}}", key)};
  }
  return Items{fmt::format("\\p{{sc:{}}}", key)};
}

}  // namespace ingot::tok::oniguruma
