// SPDX-License-Identifier: Apache-2.0
// Splits where the script changes. Spaces and characters without a script join whatever they stand
// in; kana counts as Han. One regular expression with an alternative per script says all of it:
// PCRE2 knows the scripts.
#include <string>

#include "tokenizer/pre_tokenizers.h"

namespace ingot::tok {

namespace {

constexpr std::string_view kScripts[] = {
    "Adlam",
    "Ahom",
    "AnatolianHieroglyphs",
    "Arabic",
    "Armenian",
    "Avestan",
    "Balinese",
    "Bamum",
    "BassaVah",
    "Batak",
    "Bengali",
    "Bhaiksuki",
    "Bopomofo",
    "Brahmi",
    "Braille",
    "Buginese",
    "Buhid",
    "CanadianAboriginal",
    "Carian",
    "CaucasianAlbanian",
    "Chakma",
    "Cham",
    "Cherokee",
    "Coptic",
    "Cuneiform",
    "Cypriot",
    "Cyrillic",
    "Deseret",
    "Devanagari",
    "Duployan",
    "EgyptianHieroglyphs",
    "Elbasan",
    "Ethiopic",
    "Georgian",
    "Glagolitic",
    "Gothic",
    "Grantha",
    "Greek",
    "Gujarati",
    "Gurmukhi",
    "Hangul",
    "Hanunoo",
    "Hatran",
    "Hebrew",
    "ImperialAramaic",
    "Inherited",
    "InscriptionalPahlavi",
    "InscriptionalParthian",
    "Javanese",
    "Kaithi",
    "Kannada",
    "KayahLi",
    "Kharoshthi",
    "Khmer",
    "Khojki",
    "Khudawadi",
    "Lao",
    "Latin",
    "Lepcha",
    "Limbu",
    "LinearA",
    "LinearB",
    "Lisu",
    "Lycian",
    "Lydian",
    "Mahajani",
    "Malayalam",
    "Mandaic",
    "Manichaean",
    "Marchen",
    "MeeteiMayek",
    "MendeKikakui",
    "MeroiticCursive",
    "MeroiticHieroglyphs",
    "Miao",
    "Modi",
    "Mongolian",
    "Mro",
    "Multani",
    "Myanmar",
    "Nabataean",
    "NewTaiLue",
    "Newa",
    "Nko",
    "Ogham",
    "OlChiki",
    "OldHungarian",
    "OldItalic",
    "OldNorthArabian",
    "OldPermic",
    "OldPersian",
    "OldSouthArabian",
    "OldTurkic",
    "Oriya",
    "Osage",
    "Osmanya",
    "PahawhHmong",
    "Palmyrene",
    "PauCinHau",
    "PhagsPa",
    "Phoenician",
    "PsalterPahlavi",
    "Rejang",
    "Runic",
    "Samaritan",
    "Saurashtra",
    "Sharada",
    "Shavian",
    "Siddham",
    "SignWriting",
    "Sinhala",
    "SoraSompeng",
    "Sundanese",
    "SylotiNagri",
    "Syriac",
    "Tagalog",
    "Tagbanwa",
    "TaiLe",
    "TaiTham",
    "TaiViet",
    "Takri",
    "Tamil",
    "Tangut",
    "Telugu",
    "Thaana",
    "Thai",
    "Tibetan",
    "Tifinagh",
    "Tirhuta",
    "Ugaritic",
    "Vai",
    "WarangCiti",
    "Yi",
};

}  // namespace

Result<PreTokenizerPtr> make_unicode_scripts(std::string_view source) {
  // U+30FC is Common by its script, but Han here.
  std::string neutral = R"( \p{Unknown})";
  std::string pattern = fmt::format(
      R"([\p{{Han}}\p{{Hiragana}}\p{{Katakana}}\x{{30fc}}][\p{{Han}}\p{{Hiragana}}\p{{Katakana}}\x{{30fc}}{0}]*)"
      R"(|[\p{{Common}}&&[^ \x{{30fc}}]][[\p{{Common}}&&[^\x{{30fc}}]]{0}]*)",
      neutral);
  for (const std::string_view script : kScripts) {
    pattern += fmt::format(R"(|\p{{{0}}}[\p{{{0}}}{1}]*)", script, neutral);
  }
  INGOT_TRY(SplitPattern split, SplitPattern::regex(pattern, source));
  // What no alternative begins (neutral characters at the very front) is dropped, as the reference
  // does.
  return make_split(std::move(split), SplitBehavior::kRemoved, /*invert=*/true);
}

}  // namespace ingot::tok
