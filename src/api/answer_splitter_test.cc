// SPDX-License-Identifier: Apache-2.0
#include "api/answer_splitter.h"

#include <gtest/gtest.h>

#include <random>

namespace ingot {
namespace {

constexpr ReasoningMarks kThink{"<think>", "</think>"};

struct Told {
  std::string content;
  std::string reasoning;
  std::string calls;
  int64_t reasoning_tokens = 0;
};

TextEvent token(std::string text, TokenId id = 0) {
  TextEvent event;
  event.id = id;
  event.text = std::move(text);
  return event;
}

TextEvent finish(std::string text = "") {
  TextEvent event;
  event.kind = TextEvent::Kind::kFinish;
  event.text = std::move(text);
  return event;
}

Told told(const AnswerFormat& format, const std::vector<TextEvent>& events,
          const Tokenizer* tokenizer = nullptr) {
  AnswerSplitter splitter(format, tokenizer, false);
  std::vector<AnswerPiece> pieces;
  for (const TextEvent& event : events)
    splitter.take(event, pieces);
  Told told;
  told.reasoning_tokens = splitter.reasoning_tokens();
  for (const AnswerPiece& piece : pieces) {
    switch (piece.kind) {
      case AnswerPiece::Kind::kContent:
        told.content += piece.text;
        break;
      case AnswerPiece::Kind::kReasoning:
        told.reasoning += piece.text;
        break;
      case AnswerPiece::Kind::kCall:
        told.calls += piece.text + ":";
        break;
      case AnswerPiece::Kind::kArguments:
        told.calls += piece.text;
    }
  }
  EXPECT_EQ(splitter.has_calls(), !told.calls.empty());
  return told;
}

Told thought(const std::string& text, bool begins_inside = false) {
  return told({.reasoning = kThink, .begins_in_reasoning = begins_inside}, {token(text), finish()});
}

void expect_thought(const std::string& text, const std::string& reasoning,
                    const std::string& content, bool begins_inside = false) {
  const Told result = thought(text, begins_inside);
  EXPECT_EQ(result.reasoning, reasoning) << text;
  EXPECT_EQ(result.content, content) << text;
}

TEST(AnswerSplitter, ThoughtsArePartedFromTheAnswer) {
  expect_thought("<think>\nWell, a < b.\n</think>\n\nYes.\n", "Well, a < b.", "Yes.\n");
  expect_thought("\n<think>x</think>y", "x", "y");
  expect_thought("<think></think>y", "", "y");
  expect_thought("<think>\n\n</think>\n\ny", "", "y");
  expect_thought("\nx\n y</think>z", "x\n y", "z", true);
  expect_thought("x</th</think>z", "x</th", "z", true);
}

TEST(AnswerSplitter, WithoutMarksTheTextIsContentToTheByte) {
  for (const char* text :
       {"", " ", "\n plain ", "<", "<thin", " <thing>", "a <think>b</think>", "</think>"})
    expect_thought(text, "", text);
}

TEST(AnswerSplitter, AThoughtThatDoesNotEndIsAThought) {
  expect_thought("<think>and so", "and so", "");
  expect_thought("and so\n</thi", "and so\n</thi", "", true);
}

TEST(AnswerSplitter, HiddenThoughtsAreCountedAllTheSame) {
  const AnswerFormat format{.reasoning = kThink, .hides_reasoning = true};
  const Told result = told(format, {token("<think>"), token("a"), token("b"), token("</think>"),
                                    token("c"), token("d"), finish()});
  EXPECT_EQ(result.reasoning, "");
  EXPECT_EQ(result.content, "cd");
  EXPECT_EQ(result.reasoning_tokens, 4);
}

TEST(AnswerSplitter, CallsAreLookedForAfterTheThoughtAlone) {
  const std::string call = R"(<tool_call>{"name": "f", "arguments": {}}</tool_call>)";
  const Told result = told({.tools = ToolFormat::kHermes, .reasoning = kThink},
                           {token("<think>" + call + "</think>\n"), token(call), finish()});
  EXPECT_EQ(result.reasoning, call);
  EXPECT_EQ(result.calls, "f:{}");
  EXPECT_EQ(result.content, "");
}

TEST(AnswerSplitter, CutsChangeNothing) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const auto below = [&](size_t bound) { return static_cast<size_t>(random()) % bound; };
  const std::vector<std::string> words = {
      "<think>", "</think>", "<",
      "\n",      " ",        "a",
      "é",       "</",       R"(<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>)"};
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (size_t i = below(9); i > 0; --i)
      text += words[below(words.size())];
    std::vector<TextEvent> parts;
    for (size_t at = 0; at < text.size();) {
      const size_t size = 1 + below(4);
      parts.push_back(token(text.substr(at, size)));
      at += size;
    }
    parts.push_back(finish());
    const AnswerFormat format{.tools = below(2) == 0 ? ToolFormat::kHermes : ToolFormat::kNone,
                              .reasoning = kThink,
                              .begins_in_reasoning = below(2) == 0};
    const Told whole = told(format, {token(text), finish()});
    const Told cut = told(format, parts);
    EXPECT_EQ(cut.content, whole.content) << text;
    EXPECT_EQ(cut.reasoning, whole.reasoning) << text;
    EXPECT_EQ(cut.calls, whole.calls) << text;
  }
}

std::shared_ptr<const Tokenizer> tokenizer_with_marks() {
  return Tokenizer::from_tokenizer_json(
             R"({"added_tokens":[
                   {"id":2,"content":"[TOOL_CALLS]","special":true,"single_word":false,
                    "lstrip":false,"rstrip":false,"normalized":false},
                   {"id":3,"content":"</s>","special":true,"single_word":false,
                    "lstrip":false,"rstrip":false,"normalized":false}],
                 "model":{"type":"BPE","vocab":{"a":0,"b":1,"[TOOL_CALLS]":2,"</s>":3},"merges":[]},
                 "pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"use_regex":false},
                 "decoder":{"type":"ByteLevel"}})",
             "tokenizer.json")
      .value();
}

TEST(AnswerSplitter, SpecialTokensThatAreNoMarksAreTakenOut) {
  const auto tokenizer = tokenizer_with_marks();
  const AnswerFormat format{.tools = ToolFormat::kMistral, .strips_special = true};
  EXPECT_EQ(special_marks(format, *tokenizer), std::vector<TokenId>{2});
  const Told result = told(
      format, {token("x"), token("y</s>", 3), token("[TOOL_CALLS]", 2), token("f{}"), finish()},
      tokenizer.get());
  EXPECT_EQ(result.content, "xy");
  EXPECT_EQ(result.calls, "f:{}");
}

TEST(AnswerSplitter, TemplatesAndPromptsShowTheMarks) {
  EXPECT_EQ(detect_reasoning("x '</think>' y").value().open, "<think>");
  EXPECT_EQ(detect_reasoning("[THINK]").value().close, "[/THINK]");
  EXPECT_FALSE(detect_reasoning("{{ messages }}").has_value());
  EXPECT_TRUE(opens_reasoning("<|assistant|><think>\n", kThink));
  EXPECT_FALSE(opens_reasoning("<think>\n\n</think>\n\n", kThink));
  EXPECT_FALSE(opens_reasoning("", kThink));
}

}  // namespace
}  // namespace ingot
