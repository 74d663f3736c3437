// SPDX-License-Identifier: Apache-2.0
// The checks themselves. Where IFEval's rule is a regular expression, the loop here finds what it
// finds; the expression stands beside it.
#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/ascii.h"
#include "base/json.h"
#include "eval/instruction.h"
#include "eval/response_text.h"
#include "eval/tasks/task_file.h"

namespace ingot {
namespace {

bool holds(const Instruction& instruction, int64_t count) {
  return instruction.is_at_least ? count >= instruction.count : count < instruction.count;
}

bool is_space(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0;
}

std::string_view without(std::string_view text, std::string_view characters) {
  const size_t begin = text.find_first_not_of(characters);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(characters) - begin + 1);
}

bool has_all_keywords(const Instruction& instruction, std::string_view lower) {
  return std::ranges::all_of(instruction.words, [&](const std::string& word) {
    return lower.find(to_lower(word)) != std::string_view::npos;
  });
}

bool has_forbidden_word(const Instruction& instruction, std::string_view lower) {
  return std::ranges::any_of(instruction.words, [&](const std::string& word) {
    return has_whole_word(lower, to_lower(word));
  });
}

// Paragraphs stand between "***"; one that is blank is only allowed at the ends.
bool has_paragraphs(std::string_view response, int64_t wanted) {
  const std::vector<std::string_view> parts = split(response, "***");
  auto count = static_cast<int64_t>(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!trim(parts[i]).empty()) continue;
    if (i != 0 && i + 1 != parts.size()) return false;
    --count;
  }
  return count == wanted;
}

// Paragraphs stand between blank lines here; the nth begins with the word, whatever its case.
bool has_first_word(const Instruction& instruction, std::string_view response) {
  const std::vector<std::string_view> parts = split(response, "\n\n");
  const auto count =
      std::ranges::count_if(parts, [](std::string_view part) { return !trim(part).empty(); });
  if (instruction.nth > count) return false;
  const std::string_view paragraph = trim(parts[static_cast<size_t>(instruction.nth - 1)]);
  if (paragraph.empty()) return false;
  std::string_view word = paragraph.substr(0, paragraph.find_first_of(" \t\r\n"));
  word.remove_prefix(std::min(word.find_first_not_of('\''), word.size()));
  word.remove_prefix(std::min(word.find_first_not_of('"'), word.size()));
  word = word.substr(0, word.find_first_of(".,?!'\""));
  return count == instruction.count && to_lower(word) == to_lower(instruction.text);
}

// \[.*?\] on one line.
int64_t count_placeholders(std::string_view response) {
  int64_t count = 0;
  for (const std::string_view line : split(response, "\n")) {
    for (size_t at = line.find('['); at != std::string_view::npos;) {
      const size_t end = line.find(']', at);
      if (end == std::string_view::npos) break;
      ++count;
      at = line.find('[', end);
    }
  }
  return count;
}

// "P.S." and "P.P.S" may have blanks behind their dots; other markers stand as they are.
bool has_postscript(std::string_view marker, std::string_view lower) {
  const bool is_twice = marker == "P.P.S";
  if (!is_twice && marker != "P.S.") return lower.find(to_lower(marker)) != std::string_view::npos;
  const std::string_view letters = is_twice ? "pps" : "ps";
  for (size_t begin = lower.find('p'); begin != std::string_view::npos;
       begin = lower.find('p', begin + 1)) {
    size_t at = begin;
    bool is_found = true;
    for (size_t i = 0; i < letters.size() && is_found; ++i) {
      is_found = at < lower.size() && lower[at] == letters[i];
      ++at;
      const bool needs_dot = i + 1 < letters.size() || !is_twice;
      if (!is_found || !needs_dot) continue;
      is_found = at < lower.size() && lower[at] == '.';
      ++at;
      if (i + 1 < letters.size() && at < lower.size() && is_space(lower[at])) ++at;
    }
    if (is_found) return true;
  }
  return false;
}

// Lines that begin with "-", or with one "*" and something behind it.
int64_t count_bullets(std::string_view response) {
  int64_t count = 0;
  for (const std::string_view line : split(response, "\n")) {
    const std::string_view text = trim(line);
    if (text.starts_with('-') || (text.size() > 1 && text[0] == '*' && text[1] != '*')) ++count;
  }
  return count;
}

// How many runs `mark` [^\n*]* `mark` have more than blanks inside; they do not overlap.
int64_t count_marked(std::string_view response, std::string_view mark) {
  int64_t count = 0;
  for (const std::string_view line : split(response, "\n")) {
    for (size_t at = line.find(mark); at != std::string_view::npos; at = line.find(mark, at)) {
      const size_t begin = at + mark.size();
      const size_t end = line.find('*', begin);
      if (end == std::string_view::npos) break;
      if (line.substr(end, mark.size()) != mark) {
        ++at;  // the next star may open one
        continue;
      }
      if (!trim(line.substr(begin, end - begin)).empty()) ++count;
      at = end + mark.size();
    }
  }
  return count;
}

// \s?NAME\s?\d+: how many headings there are.
int64_t count_sections(std::string_view response, std::string_view name) {
  if (name.empty()) return 0;  // found everywhere, again and again
  int64_t count = 0;
  for (size_t at = response.find(name); at != std::string_view::npos;
       at = response.find(name, at + name.size())) {
    size_t next = at + name.size();
    if (next < response.size() && is_space(response[next])) ++next;
    if (next < response.size() && is_digit(response[next])) ++count;
  }
  return count;
}

bool is_json(std::string_view response) {
  std::string_view text = trim(response);
  for (const std::string_view fence : {"```json", "```Json", "```JSON", "```"}) {
    if (text.starts_with(fence)) text.remove_prefix(fence.size());
  }
  if (text.ends_with("```")) text.remove_suffix(3);
  return parse_json(trim(text), "response").is_ok();
}

// <<[^\n]+>> with more than blanks inside.
bool has_title(std::string_view response) {
  for (const std::string_view line : split(response, "\n")) {
    const size_t begin = line.find("<<");
    const size_t end = line.rfind(">>");
    if (begin == std::string_view::npos || end == std::string_view::npos || end < begin + 3)
      continue;
    if (!trim(without(line.substr(begin, end + 2 - begin), "<>")).empty()) return true;
  }
  return false;
}

bool has_two_responses(std::string_view response) {
  const std::vector<std::string_view> parts = split(response, "******");
  std::vector<std::string_view> found;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string_view part = trim(parts[i]);
    if (!part.empty()) {
      found.push_back(part);
    } else if (i != 0 && i + 1 != parts.size()) {
      return false;
    }
  }
  return found.size() == 2 && found[0] != found[1];
}

bool is_quoted(std::string_view response) {
  const std::string_view text = trim(response);
  return text.size() > 1 && text.front() == '"' && text.back() == '"';
}

bool is_english(std::string_view response) {
  const std::string language = guess_language(response);
  return language.empty() || language == "en";
}

bool check(const Instruction& instruction, std::string_view response) {
  const std::string lower = to_lower(response);
  switch (instruction.kind) {
    case InstructionKind::kKeywords:
      return has_all_keywords(instruction, lower);
    case InstructionKind::kKeywordFrequency:
      return holds(instruction, count_of(lower, to_lower(trim(instruction.text))));
    case InstructionKind::kForbiddenWords:
      return !has_forbidden_word(instruction, lower);
    case InstructionKind::kLetterFrequency:
      return holds(instruction, count_of(lower, to_lower(trim(instruction.text))));
    case InstructionKind::kLanguage: {
      const std::string language = guess_language(response);
      return language.empty() || language == instruction.text;
    }
    case InstructionKind::kSentences:
      return holds(instruction, count_sentences(response));
    case InstructionKind::kParagraphs:
      return has_paragraphs(response, instruction.count);
    case InstructionKind::kWords:
      return holds(instruction, count_words(response));
    case InstructionKind::kNthParagraph:
      return has_first_word(instruction, response);
    case InstructionKind::kPlaceholders:
      return count_placeholders(response) >= instruction.count;
    case InstructionKind::kPostscript:
      return has_postscript(trim(instruction.text), lower);
    case InstructionKind::kBullets:
      return count_bullets(response) == instruction.count;
    case InstructionKind::kConstrained:
      return std::ranges::any_of(
          std::array<std::string_view, 3>{"My answer is yes.", "My answer is no.",
                                          "My answer is maybe."},
          [&](std::string_view option) { return response.find(option) != std::string_view::npos; });
    case InstructionKind::kHighlights:
      return count_marked(response, "*") + count_marked(response, "**") >= instruction.count;
    case InstructionKind::kSections:
      return count_sections(response, trim(instruction.text)) >= instruction.count;
    case InstructionKind::kJson:
      return is_json(response);
    case InstructionKind::kTitle:
      return has_title(response);
    case InstructionKind::kRepeatPrompt:
      return trim(lower).starts_with(to_lower(trim(instruction.text)));
    case InstructionKind::kTwoResponses:
      return has_two_responses(response);
    case InstructionKind::kEnd:
      return without(trim(lower), "\"").ends_with(to_lower(trim(instruction.text)));
    case InstructionKind::kCapital:
      return is_all_upper(response) && is_english(response);
    case InstructionKind::kLowercase:
      return is_all_lower(response) && is_english(response);
    case InstructionKind::kNoComma:
      return response.find(',') == std::string_view::npos;
    case InstructionKind::kCapitalWords:
      return holds(instruction, count_capital_words(response));
    case InstructionKind::kQuotation:
      return is_quoted(response);
  }
  return false;
}

}  // namespace

bool is_followed(const Instruction& instruction, std::string_view response) {
  return !trim(response).empty() && check(instruction, response);
}

bool is_followed_loosely(const Instruction& instruction, std::string_view response) {
  const size_t first_end = response.find('\n');
  const size_t last_begin = response.rfind('\n');
  const std::string_view no_first =
      first_end == std::string_view::npos ? "" : trim(response.substr(first_end + 1));
  const std::string_view no_last =
      last_begin == std::string_view::npos ? "" : trim(response.substr(0, last_begin));
  const std::string_view no_both =
      first_end == last_begin ? ""
                              : trim(response.substr(first_end + 1, last_begin - first_end - 1));
  for (const std::string_view variant : {response, no_first, no_last, no_both}) {
    if (is_followed(instruction, variant)) return true;
    std::string plain(variant);
    std::erase(plain, '*');
    if (is_followed(instruction, plain)) return true;
  }
  return false;
}

}  // namespace ingot
