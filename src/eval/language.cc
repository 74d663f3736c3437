// SPDX-License-Identifier: Apache-2.0
// guess_language(): scripts that one language owns decide by themselves; Latin, Cyrillic, Arabic
// and Devanagari are told apart by their most frequent words and letters of their own.
#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string>

#include "base/utf8.h"
#include "eval/response_text.h"

namespace ingot {
namespace {

struct Script {
  char32_t first;
  char32_t last;
  std::string_view name;  // a language, or a script in capitals
};
constexpr std::array kScripts = {
    Script{'a', 'z', "LATIN"},        Script{0xC0, 0x24F, "LATIN"},
    Script{0x1E00, 0x1EFF, "LATIN"},  Script{0x370, 0x3FF, "el"},
    Script{0x400, 0x4FF, "CYRILLIC"}, Script{0x590, 0x5FF, "he"},
    Script{0x600, 0x6FF, "ARABIC"},   Script{0x900, 0x97F, "DEVANAGARI"},
    Script{0x980, 0x9FF, "bn"},       Script{0xA00, 0xA7F, "pa"},
    Script{0xA80, 0xAFF, "gu"},       Script{0xB80, 0xBFF, "ta"},
    Script{0xC00, 0xC7F, "te"},       Script{0xC80, 0xCFF, "kn"},
    Script{0xD00, 0xD7F, "ml"},       Script{0xE00, 0xE7F, "th"},
    Script{0x1100, 0x11FF, "ko"},     Script{0xAC00, 0xD7AF, "ko"},
    Script{0x3040, 0x30FF, "ja"},     Script{0x4E00, 0x9FFF, "zh"},
};

// Whole words between blanks, and single letters that no other language of the script has.
struct Language {
  std::string_view script;
  std::string_view name;
  std::string_view words;
  std::u32string_view letters = {};
};
constexpr std::array kLanguages = {
    Language{
        "LATIN", "en",
        " the and of to in is that it was for you he with on are this be have not his they i at "
        "from she her we your can will what there my as but by an all if do "},
    Language{
        "LATIN", "de",
        " der die das und ist nicht ein eine ich zu den mit von sie auf für dem es im sich auch "
        "wie haben wir werden oder sind des einen aber ",
        U"ß"},
    Language{
        "LATIN", "fr",
        " le la les et des est un une pour que dans qui je vous sur pas avec ce il plus au nous "
        "sont du en elle mais ou cette ",
        U"œ"},
    Language{
        "LATIN", "es",
        " el la los que de en y es un una por con para no se las del su más como pero al lo si "
        "está son muy también ",
        U"ñ¿¡"},
    Language{"LATIN", "it",
             " il di che è la per un una non sono con del della le si gli più come anche nel ma ho "
             "questo alla dei mi lo "},
    Language{
        "LATIN", "pt",
        " o que de não uma um para com os se por mais as do da em é no na dos como você mas foi "
        "são ao também muito ",
        U"ãõ"},
    Language{"LATIN", "nl",
             " de het een en van is niet dat op te zijn voor met die ook maar aan ik je er bij "},
    Language{
        "LATIN", "fi",
        " ja on ei se että hän oli mutta kun niin ovat tai myös minä voi ole kuin joka mitä sen "
        "siitä tämä olen kanssa "},
    Language{"LATIN", "sw",
             " na ya wa kwa ni katika za la kuwa hii yake cha kama mimi wewe yeye sana pia lakini "
             "huu hiyo watu vya ili kila "},
    Language{
        "LATIN", "vi",
        " và là của có không một cho được các người trong những này với đã để tôi khi bạn đến ",
        U"đơưạảấầẩẫậắằặẹẻẽếềểễệỉịọỏốồổỗộớờởợụủứừửựỳỵỷỹ"},
    Language{"CYRILLIC", "ru",
             " и в не на что я с он как это по но они мы она за то все так его из у для вы был ",
             U"ыэё"},
    Language{"CYRILLIC", "bg",
             " и на да се в за не са от е ще че с по това като но или съм към има ми който ", U"ъ"},
    Language{"CYRILLIC", "uk", " і в не на що я з як це та до але вони для за є ", U"іїєґ"},
    Language{"ARABIC", "ar", " في من على أن إلى هذا كان التي الذي ما لا هو هي مع كل عن ", U"ةىأإؤ"},
    Language{"ARABIC", "fa", " و در به از که این را با است برای آن یک می های خود تا ما ", U"پچژگ"},
    Language{"ARABIC", "ur", " کے میں کی ہے اور سے کا کو نے ہیں یہ پر اس ایک نہیں کہ ", U"ٹڈڑںےہ"},
    Language{"DEVANAGARI", "hi", " है और के में की का को से एक पर यह हैं नहीं था कि भी लिए इस तो कर जो मैं "},
    Language{"DEVANAGARI", "mr",
             " आहे आणि च्या मध्ये हे ते नाही एक आहेत या की तो मी ती होते केले साठी तर हा ", U"ळ"},
    Language{"DEVANAGARI", "ne", " छ र को मा हो छन् लाई यो पनि गर्न एक थियो भने म हुन् गरेको तपाईं हामी "},
};

std::string_view script_of(char32_t c) {
  for (const Script& script : kScripts) {
    if (c >= script.first && c <= script.last) return script.name;
  }
  return {};
}

std::string_view likeliest_of(std::string_view script, std::string_view lower) {
  std::map<std::string_view, int64_t> points;
  const auto count_word = [&](std::string_view word) {
    const std::string padded = " " + std::string(word) + " ";
    for (const Language& language : kLanguages) {
      if (language.script == script && language.words.find(padded) != std::string_view::npos)
        points[language.name] += 2;
    }
  };
  size_t word_begin = 0;
  for (size_t at = 0; at < lower.size();) {
    const utf8::Decoded c = utf8::decode(lower.substr(at));
    for (const Language& language : kLanguages) {
      if (language.script == script && language.letters.find(c.code_point) != std::u32string::npos)
        points[language.name] += 1;
    }
    // Marks above and below letters belong to words (Devanagari's vowels are such).
    const bool is_inside = is_word_character(c.code_point) || !script_of(c.code_point).empty();
    if (!is_inside) {
      if (at > word_begin) count_word(lower.substr(word_begin, at - word_begin));
      word_begin = at + c.size;
    }
    at += c.size;
  }
  if (word_begin < lower.size()) count_word(lower.substr(word_begin));
  const auto best =
      std::ranges::max_element(points, {}, [](const auto& entry) { return entry.second; });
  return best == points.end() ? std::string_view{} : best->first;
}

}  // namespace

std::string guess_language(std::string_view text) {
  const std::string lower = to_lower(text);
  std::map<std::string_view, int64_t> letters;
  for (size_t at = 0; at < lower.size();) {
    const utf8::Decoded c = utf8::decode(std::string_view(lower).substr(at));
    if (const std::string_view script = script_of(c.code_point); !script.empty()) ++letters[script];
    at += c.size;
  }
  const auto most =
      std::ranges::max_element(letters, {}, [](const auto& entry) { return entry.second; });
  if (most == letters.end()) return "";
  const std::string_view script = most->first;
  if (script == "zh" && letters.contains("ja")) return "ja";
  if (script[0] >= 'a') return std::string(script);
  const std::string_view name = likeliest_of(script, lower);
  if (!name.empty()) return std::string(name);
  // No frequent word: what is usual in that script.
  return script == "LATIN" ? "en" : script == "CYRILLIC" ? "ru" : script == "ARABIC" ? "ar" : "hi";
}

}  // namespace ingot
