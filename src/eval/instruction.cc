// SPDX-License-Identifier: Apache-2.0
#include "eval/instruction.h"

#include <algorithm>
#include <array>

#include "base/limits.h"
#include "eval/tasks/task_file.h"

namespace ingot {
namespace {

constexpr int64_t kMostCount = 1'000'000;

// Which arguments a kind has, by the data set's names; empty: none.
struct Form {
  std::string_view id;
  InstructionKind kind;
  std::string_view words = {};
  std::string_view text = {};
  std::string_view count = {};
  std::string_view relation = {};
  std::string_view nth = {};
};
constexpr std::array kForms = {
    Form{"keywords:existence", InstructionKind::kKeywords, "keywords"},
    Form{"keywords:frequency",
         InstructionKind::kKeywordFrequency,
         {},
         "keyword",
         "frequency",
         "relation"},
    Form{"keywords:forbidden_words", InstructionKind::kForbiddenWords, "forbidden_words"},
    Form{"keywords:letter_frequency",
         InstructionKind::kLetterFrequency,
         {},
         "letter",
         "let_frequency",
         "let_relation"},
    Form{"language:response_language", InstructionKind::kLanguage, {}, "language"},
    Form{"length_constraints:number_sentences",
         InstructionKind::kSentences,
         {},
         {},
         "num_sentences",
         "relation"},
    Form{"length_constraints:number_paragraphs",
         InstructionKind::kParagraphs,
         {},
         {},
         "num_paragraphs"},
    Form{"length_constraints:number_words",
         InstructionKind::kWords,
         {},
         {},
         "num_words",
         "relation"},
    Form{"length_constraints:nth_paragraph_first_word",
         InstructionKind::kNthParagraph,
         {},
         "first_word",
         "num_paragraphs",
         {},
         "nth_paragraph"},
    Form{"detectable_content:number_placeholders",
         InstructionKind::kPlaceholders,
         {},
         {},
         "num_placeholders"},
    Form{"detectable_content:postscript", InstructionKind::kPostscript, {}, "postscript_marker"},
    Form{"detectable_format:number_bullet_lists", InstructionKind::kBullets, {}, {}, "num_bullets"},
    Form{"detectable_format:constrained_response", InstructionKind::kConstrained},
    Form{"detectable_format:number_highlighted_sections",
         InstructionKind::kHighlights,
         {},
         {},
         "num_highlights"},
    Form{"detectable_format:multiple_sections",
         InstructionKind::kSections,
         {},
         "section_spliter",
         "num_sections"},
    Form{"detectable_format:json_format", InstructionKind::kJson},
    Form{"detectable_format:title", InstructionKind::kTitle},
    Form{"combination:repeat_prompt", InstructionKind::kRepeatPrompt, {}, "prompt_to_repeat"},
    Form{"combination:two_responses", InstructionKind::kTwoResponses},
    Form{"startend:end_checker", InstructionKind::kEnd, {}, "end_phrase"},
    Form{"startend:quotation", InstructionKind::kQuotation},
    Form{"change_case:english_capital", InstructionKind::kCapital},
    Form{"change_case:english_lowercase", InstructionKind::kLowercase},
    Form{"change_case:capital_word_frequency",
         InstructionKind::kCapitalWords,
         {},
         {},
         "capital_frequency",
         "capital_relation"},
    Form{"punctuation:no_comma", InstructionKind::kNoComma},
};

}  // namespace

Result<Instruction> parse_instruction(std::string_view id, const TaskObject& arguments) {
  const auto form = std::ranges::find(kForms, id, &Form::id);
  if (form == kForms.end())
    return arguments.error(fmt::format("the instruction '{}' is not known", id));
  Instruction instruction;
  instruction.kind = form->kind;
  instruction.id = id;
  if (!form->words.empty()) {
    INGOT_TRY(instruction.words, arguments.strings(form->words, limits::kTaskInstructions));
  }
  if (!form->text.empty()) {
    INGOT_TRY(instruction.text, arguments.string(form->text));
    if (trim(instruction.text).empty())
      return arguments.error(fmt::format("'{}' is empty", form->text));
  }
  if (!form->count.empty()) {
    INGOT_TRY(instruction.count, arguments.integer(form->count, 0, kMostCount));
  }
  if (!form->nth.empty()) {
    INGOT_TRY(instruction.nth, arguments.integer(form->nth, 1, kMostCount));
  }
  if (!form->relation.empty()) {
    INGOT_TRY(const std::string relation, arguments.string(form->relation));
    if (relation != "at least" && relation != "less than")
      return arguments.error(fmt::format("'{}' is '{}' but must be 'at least' or 'less than'",
                                         form->relation, relation));
    instruction.is_at_least = relation == "at least";
  }
  return instruction;
}

}  // namespace ingot
