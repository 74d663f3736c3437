// SPDX-License-Identifier: Apache-2.0
// Each kind with responses that follow it and responses that do not.
#include "eval/instruction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "eval/response_text.h"
#include "eval/tasks/task_file.h"

namespace ingot {
namespace {

Instruction make(std::string_view id, std::string_view arguments = "{}") {
  const Result<Instruction> parsed =
      parse_instruction(id, TaskObject(*parse_json(arguments, "test"), "test:1"));
  EXPECT_TRUE(parsed.is_ok()) << parsed.status().message();
  return parsed.is_ok() ? *parsed : Instruction{};
}

struct Case {
  std::string_view id, arguments;
  std::vector<std::string_view> good, bad;
};

TEST(Instruction, EveryKindTellsGoodFromBad) {
  const std::vector<Case> cases = {
      {"keywords:existence",
       R"({"keywords": ["Apple", "pie"]})",
       {"An apple in a PIE.", "pineapple pies"},
       {"An apple.", ""}},
      {"keywords:frequency",
       R"({"keyword": "star", "frequency": 2, "relation": "at least"})",
       {"Star light, star bright", "starstar"},
       {"One star"}},
      {"keywords:frequency",
       R"({"keyword": "star", "frequency": 2, "relation": "less than"})",
       {"One star", "none"},
       {"star star"}},
      {"keywords:forbidden_words",
       R"({"forbidden_words": ["cat", "dog house"]})",
       {"A category of dogs", "catalogue"},
       {"A CAT sat.", "the dog house"}},
      {"keywords:letter_frequency",
       R"({"letter": "Q", "let_frequency": 2, "let_relation": "at least"})",
       {"quick Queen"},
       {"quick"}},
      {"keywords:letter_frequency",
       R"({"letter": "!", "let_frequency": 1, "let_relation": "less than"})",
       {"Calm."},
       {"Loud!"}},
      {"language:response_language",
       R"({"language": "de"})",
       {"Das ist ein Haus und ich wohne nicht mit der Katze darin."},
       {"This is a house and I live in it with the cat."}},
      {"length_constraints:number_sentences",
       R"({"num_sentences": 3, "relation": "at least"})",
       {"One. Two! Three?", "Dr. Smith came. He sat. He left"},
       {"Mr. Smith paid 3.50 dollars. He left.", "One"}},
      {"length_constraints:number_paragraphs",
       R"({"num_paragraphs": 2})",
       {"First\n***\nSecond", "***\nFirst\n***\nSecond\n***"},
       {"First", "A *** *** B", "A *** B *** C"}},
      {"length_constraints:number_words",
       R"({"num_words": 3, "relation": "at least"})",
       {"one two three", "it's so"},
       {"one two", "-- ..."}},
      {"length_constraints:number_words",
       R"({"num_words": 3, "relation": "less than"})",
       {"one two"},
       {"one two three"}},
      {"length_constraints:nth_paragraph_first_word",
       R"({"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "Weekend"})",
       {"Hello.\n\n\"weekend, at last\"", "A\n\nWeekend"},
       {"Weekend\n\nA", "A\n\nWeekend\n\nB", "A"}},
      {"detectable_content:number_placeholders",
       R"({"num_placeholders": 2})",
       {"Dear [name], of [address]", "[a][b][c]"},
       {"Dear [name]", "[open and\nclosed] [x]"}},
      {"detectable_content:postscript",
       R"({"postscript_marker": "P.S."})",
       {"Bye\nP.S. One more thing", "p. s. small"},
       {"Bye", "PS one more"}},
      {"detectable_content:postscript",
       R"({"postscript_marker": "P.P.S"})",
       {"Bye\nP.P.S again", "P. P. S."},
       {"Bye\nP.S. once"}},
      {"detectable_format:number_bullet_lists",
       R"({"num_bullets": 2})",
       {"* one\n* two", "text\n- one\n  - two\nmore"},
       {"* one", "* one\n* two\n- three", "**bold**\n* one"}},
      {"detectable_format:constrained_response",
       "{}",
       {"My answer is yes.", "Well: My answer is maybe."},
       {"Yes.", "my answer is no"}},
      {"detectable_format:number_highlighted_sections",
       R"({"num_highlights": 2})",
       {"*one* and *two*", "**one** and *two*"},
       {"*one*", "* *  * *", "nothing"}},
      {"detectable_format:multiple_sections",
       R"({"section_spliter": "SECTION", "num_sections": 2})",
       {"SECTION 1\ntext\nSECTION 2\ntext", "SECTION1 SECTION2"},
       {"SECTION 1\ntext", "SECTION one SECTION two"}},
      {"detectable_format:json_format",
       "{}",
       {R"({"a": [1, 2]})", "```json\n{\"a\": 1}\n```", "[]"},
       {"{a: 1}", "Here: {}"}},
      {"detectable_format:title",
       "{}",
       {"<<A title>>\nText", "Text <<t>> text"},
       {"<A title>", "<<>>", "<<  >>", "<<open\nclosed>>"}},
      {"combination:repeat_prompt",
       R"({"prompt_to_repeat": "Say hello."})",
       {"Say hello.\n\nHello!", "  SAY HELLO. Hi"},
       {"Hello! Say hello."}},
      {"combination:two_responses",
       "{}",
       {"One\n******\nTwo", "******\nOne\n******\nTwo"},
       {"One", "One\n******\nOne", "One\n******\n******\nTwo", "A******B******C"}},
      {"startend:end_checker",
       R"({"end_phrase": "Any questions?"})",
       {"Text. Any questions?", "Text. \"any questions?\" \n"},
       {"Any questions? No."}},
      {"startend:quotation", "{}", {"\"Hello\"", " \"a\" "}, {"Hello", "\"", "\"Hello"}},
      {"change_case:english_capital", "{}", {"THE DOG IS IN THE HOUSE 7!"}, {"The dog", "7"}},
      {"change_case:english_lowercase", "{}", {"the dog is in the house."}, {"The dog", "7"}},
      {"change_case:capital_word_frequency",
       R"({"capital_frequency": 2, "capital_relation": "at least"})",
       {"NASA and ESA", "I AM"},
       {"NASA and Esa", "none"}},
      {"punctuation:no_comma", "{}", {"No such sign here."}, {"Well, no."}},
  };
  for (const Case& test : cases) {
    const Instruction instruction = make(test.id, test.arguments);
    for (const std::string_view response : test.good)
      EXPECT_TRUE(is_followed(instruction, response)) << test.id << ": " << response;
    for (const std::string_view response : test.bad)
      EXPECT_FALSE(is_followed(instruction, response)) << test.id << ": " << response;
    EXPECT_FALSE(is_followed(instruction, " \n ")) << test.id << ": nothing follows nothing";
  }
}

TEST(Instruction, LooselyForgivesAnOpeningAClosingAndEmphasis) {
  const Instruction json = make("detectable_format:json_format");
  EXPECT_FALSE(is_followed(json, "Sure, here it is:\n{\"a\": 1}"));
  EXPECT_TRUE(is_followed_loosely(json, "Sure, here it is:\n{\"a\": 1}"));
  EXPECT_TRUE(is_followed_loosely(json, "{\"a\": 1}\nI hope this helps"));
  EXPECT_TRUE(is_followed_loosely(json, "Sure:\n{\"a\": 1}\nDone"));
  EXPECT_TRUE(is_followed_loosely(json, "**{\"a\": 1}**"));
  EXPECT_FALSE(is_followed_loosely(json, "Sure:\nnothing\nDone"));
  EXPECT_FALSE(is_followed_loosely(json, ""));
}

TEST(Instruction, RefusesUnknownKindsAndBadArgumentsWithTheirPlace) {
  const auto fails = [](std::string_view id, std::string_view arguments) {
    const Result<Instruction> parsed =
        parse_instruction(id, TaskObject(*parse_json(arguments, "test"), "data.jsonl:7"));
    EXPECT_FALSE(parsed.is_ok()) << id << arguments;
    EXPECT_THAT(parsed.status().message(), ::testing::StartsWith("data.jsonl:7: "));
  };
  fails("no:such", "{}");
  fails("keywords:existence", "{}");
  fails("keywords:existence", R"({"keywords": "one"})");
  fails("keywords:existence", R"({"keywords": [1]})");
  fails("length_constraints:number_words", R"({"num_words": 3, "relation": "around"})");
  fails("length_constraints:number_words", R"({"num_words": -1, "relation": "at least"})");
  fails("length_constraints:number_words", R"({"num_words": 1.5, "relation": "at least"})");
  fails("length_constraints:number_words",
        R"({"num_words": 18446744073709551615, "relation": "at least"})");
  fails("keywords:frequency", R"({"keyword": " ", "frequency": 1, "relation": "at least"})");
}

TEST(ResponseText, CountsSentencesAsReadersDo) {
  EXPECT_EQ(count_sentences(""), 0);
  EXPECT_EQ(count_sentences("No end"), 1);
  EXPECT_EQ(count_sentences("One. Two."), 2);
  EXPECT_EQ(count_sentences("Really?! Yes..."), 2);
  EXPECT_EQ(count_sentences("\"Stop!\" he said. She did."), 3) << "! always ends one";
  EXPECT_EQ(count_sentences("It is 3.14, e.g. a number. J. R. Smith knew."), 2);
  EXPECT_EQ(count_sentences("See example.com for more."), 1);
}

TEST(ResponseText, KnowsTheLanguagesOfTheDataSet) {
  EXPECT_EQ(guess_language("The dog and the cat are in the house with you"), "en");
  EXPECT_EQ(guess_language("O cachorro não está em casa e você também não"), "pt");
  EXPECT_EQ(guess_language("Il cane non è in casa e la gatta è con gli amici"), "it");
  EXPECT_EQ(guess_language("Koira ja kissa ovat talossa mutta hän ei ole"), "fi");
  EXPECT_EQ(guess_language("Tôi là một người và bạn không có"), "vi");
  EXPECT_EQ(guess_language("Watu wa mji huu ni wengi na wanapenda kusoma kwa sana"), "sw");
  EXPECT_EQ(guess_language("Это мой дом и я его люблю"), "ru");
  EXPECT_EQ(guess_language("Това е моята къща и аз ще се върна"), "bg");
  EXPECT_EQ(guess_language("هذا البيت الذي كان في المدينة"), "ar");
  EXPECT_EQ(guess_language("این خانه در شهر است که می‌گویند"), "fa");
  EXPECT_EQ(guess_language("یہ گھر شہر میں ہے اور بہت اچھا نہیں"), "ur");
  EXPECT_EQ(guess_language("यह घर है और मैं इस में रहता हूँ"), "hi");
  EXPECT_EQ(guess_language("हे घर आहे आणि ते मोठे नाही"), "mr");
  EXPECT_EQ(guess_language("ಇದು ಮನೆ"), "kn");
  EXPECT_EQ(guess_language("이것은 집입니다"), "ko");
  EXPECT_EQ(guess_language("12 + 3"), "");
}

}  // namespace
}  // namespace ingot
