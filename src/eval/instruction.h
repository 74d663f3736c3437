// SPDX-License-Identifier: Apache-2.0
// Instructions that a program can check ("no commas", "at least 300 words"): the kinds of IFEval,
// with its rules. Two of them lean on libraries there (sentences, languages); ours are small and
// said so in docs/evaluation.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace ingot {

class TaskObject;

enum class InstructionKind : uint8_t {
  kKeywords,
  kKeywordFrequency,
  kForbiddenWords,
  kLetterFrequency,
  kLanguage,
  kSentences,
  kParagraphs,
  kWords,
  kNthParagraph,
  kPlaceholders,
  kPostscript,
  kBullets,
  kConstrained,
  kHighlights,
  kSections,
  kJson,
  kTitle,
  kRepeatPrompt,
  kTwoResponses,
  kEnd,
  kCapital,
  kLowercase,
  kNoComma,
  kCapitalWords,
  kQuotation,
};

struct Instruction {
  InstructionKind kind = InstructionKind::kNoComma;
  std::string id = {};                  // "punctuation:no_comma"
  std::vector<std::string> words = {};  // keywords, forbidden words
  std::string text = {};                // one keyword, letter, marker, phrase, language, prompt
  int64_t count = 0;
  int64_t nth = 0;
  bool is_at_least = true;  // else less than
};

// `arguments` as the data set names them.
Result<Instruction> parse_instruction(std::string_view id, const TaskObject& arguments);

// An empty response follows nothing.
bool is_followed(const Instruction& instruction, std::string_view response);
// Also without its first or last line, or both, and without asterisks: openings such as "Sure,
// here it is:" and marks of emphasis are forgiven.
bool is_followed_loosely(const Instruction& instruction, std::string_view response);

}  // namespace ingot
