// SPDX-License-Identifier: Apache-2.0
#include "api/tool_parser.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "base/json.h"
#include "base/limits.h"

namespace ingot {
namespace {

// All that was told, in one line: content as it is, calls as ‹name arguments›.
struct ToldCalls {
  std::string line;
  std::vector<std::string> ids;
  size_t fragments = 0;
};

ToldCalls gather(const std::vector<AnswerPiece>& pieces) {
  ToldCalls told;
  bool is_in_call = false;
  size_t calls = 0;
  const auto close = [&] {
    if (std::exchange(is_in_call, false)) told.line += "›";
  };
  for (const AnswerPiece& piece : pieces) {
    switch (piece.kind) {
      case AnswerPiece::Kind::kCall:
        close();
        EXPECT_EQ(piece.call, calls++);
        told.line += "‹" + piece.text + " ";
        told.ids.push_back(piece.id);
        is_in_call = true;
        break;
      case AnswerPiece::Kind::kArguments:
        EXPECT_TRUE(is_in_call);
        EXPECT_EQ(piece.call + 1, calls);
        told.line += piece.text;
        ++told.fragments;
        break;
      default:
        close();
        told.line += piece.text;
    }
  }
  close();
  return told;
}

std::vector<AnswerPiece> parsed(ToolParserOptions options, const std::vector<std::string>& parts) {
  if (options.names.empty()) options.names = {"f", "g", "get_weather"};
  const std::unique_ptr<ToolParser> parser = make_tool_parser(std::move(options));
  std::vector<AnswerPiece> all;
  for (const std::string& part : parts) {
    std::vector<AnswerPiece> pieces;
    parser->push(part, pieces);
    all.insert(all.end(), pieces.begin(), pieces.end());
  }
  parser->finish(all);
  return all;
}

std::string line(ToolFormat format, const std::string& text, bool holds = true) {
  return gather(parsed({.format = format, .holds_calls = holds}, {text})).line;
}

// Whole, and with arguments on the way: the same.
void expect_line(ToolFormat format, const std::string& text, const std::string& expected) {
  EXPECT_EQ(line(format, text, true), expected) << text;
  EXPECT_EQ(line(format, text, false), expected) << text;
}

constexpr ToolFormat kHermes = ToolFormat::kHermes;
constexpr ToolFormat kLlama = ToolFormat::kLlamaJson;
constexpr ToolFormat kPythonic = ToolFormat::kPythonic;
constexpr ToolFormat kMistral = ToolFormat::kMistral;

TEST(ToolParser, HermesCallsStandInTags) {
  expect_line(kHermes, "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>",
              "‹f {\"a\": 1}›");
  expect_line(kHermes,
              "Let me see.\n<tool_call>{\"arguments\": {\"a\": [{}]}, \"name\": \"h\"}</tool_call>"
              "\n<tool_call>\n{\"name\":\"g\"}</tool_call>\nDone.",
              "Let me see.\n‹h {\"a\": [{}]}›‹g {}›\nDone.");
  expect_line(kHermes, R"(<tool_call>{"name": "f", "arguments": "{\"a\": 1}"}</tool_call>)",
              R"(‹f {"a": 1}›)");
  expect_line(kHermes, R"(<tool_call>{"name": "f", "arguments": null, "id": 1.5}</tool_call>)",
              "‹f {}›");
}

TEST(ToolParser, HermesForgivesWhatSmallModelsForget) {
  const std::string call = R"({"name": "f", "arguments": {"a": 1}})";
  const std::string told = R"(‹f {"a": 1}›)";
  expect_line(kHermes, "<tool_call>" + call, told);  // the end
  expect_line(kHermes, "<tool_call>" + call + "</tool_", told);
  expect_line(kHermes, "<tool_call>" + call + "}</tool_call>", told);  // a bracket too many
  expect_line(kHermes, R"(<tool_call>{"name": "f", "arguments": {"a": 1}</tool_call>)", told);
  expect_line(kHermes, R"(<tool_call>{"name": "f", "arguments": {"a": 1})", told);
  expect_line(kHermes, "<tool_call>" + call + "\n" + call + "</tool_call>", told + told);
  expect_line(kHermes, "<tool_call>" + call + "<tool_call>" + call + "</tool_call>", told + told);
  // A line end inside a string is escaped, so that the client can parse it.
  expect_line(kHermes, "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": \"x\ny\"}}</tool_call>",
              R"(‹f {"a": "x\ny"}›)");
}

TEST(ToolParser, WhatIsNoCallStaysText) {
  for (const char* text :
       {"", " \n ", "plain", "a < b", "<tool", "<tool_call", "<tool_call>",
        "<tool_call>x</tool_call>", "<tool_call>[]</tool_call>", "<tool_call>{}</tool_call>",
        "<tool_call>{\"name\": 1}", R"(<tool_call>{"name": "", "arguments": {}}</tool_call>)",
        R"(<tool_call>{"name": "f", "name": "g", "arguments": {}}</tool_call>)",
        R"(<tool_call>{"name": "f", "arguments": [1]}</tool_call>)",
        R"(<tool_call>{"name": "f", "arguments": "{"}</tool_call>)",
        R"(<tool_call>{"name": "f", "arguments": 1)", "</tool_call>"}) {
    expect_line(kHermes, text, text);
  }
  for (const char* text :
       {"{", "{\"a\": 1}", "[1, 2]", "{\"name\": \"unknown\", \"parameters\": {}}",
        "Say {\"name\": \"f\", \"parameters\": {}}", "[{\"name\": \"f\""})
    expect_line(kLlama, text, text);
  for (const char* text : {"[", "[1]", "[f", "[f(", "[f(1)]", "[h()]", "[f(a=b)]", "[f(a=']",
                           "x [f()]", "[f(a=1]", "<|python", "[f (a=1)]"})
    expect_line(kPythonic, text, text);
  for (const char* text : {"[TOOL_CALLS]", "[TOOL_CALLS]f", "[TOOL_CALLS]f x", "[TOOL_CALLS][]",
                           "[TOOL_CALLS]f[ARGX]{}", "[TOOL", "[TOOL_CALLS]f[1]"})
    expect_line(kMistral, text, text);
}

TEST(ToolParser, AHeldCallThatBreaksIsTextAndAStreamedOneEndsThere) {
  const std::string text = R"(<tool_call>{"name": "f", "arguments": {"a": oops}}</tool_call>)";
  EXPECT_EQ(line(kHermes, text, true), text);
  EXPECT_EQ(line(kHermes, text, false), R"(‹f {"a": ›oops}}</tool_call>)");
  const std::string cut = R"(<tool_call>{"name": "f", "arguments": {"a": "lo)";
  EXPECT_EQ(line(kHermes, cut, true), cut);
  EXPECT_EQ(line(kHermes, cut, false), R"(‹f {"a": "lo›)");
}

TEST(ToolParser, LlamaCallsAreTheAnswerItself) {
  const std::string call = R"({"name": "f", "parameters": {"a": "x"}})";
  const std::string told = R"(‹f {"a": "x"}›)";
  expect_line(kLlama, call, told);
  expect_line(kLlama, "\n " + call + "\n", told);
  expect_line(kLlama, "<|python_tag|>" + call, told);
  expect_line(kLlama, call + "; " + call, told + told);
  expect_line(kLlama, call + "\n" + call, told + told);
  expect_line(kLlama, "[" + call + ", " + call + "]", told + told);
  expect_line(kLlama, R"({"type": "function", "name": "g", "parameters": {}})", "‹g {}›");
  expect_line(kLlama, call + " and so on", told + " and so on");
  expect_line(kLlama, "Sure. <|python_tag|>" + call, "Sure. " + told);
}

TEST(ToolParser, PythonicCallsBecomeJson) {
  expect_line(kPythonic, R"([f(a=1, b="x)]"), g()])", R"(‹f {"a": 1, "b": "x)]"}›‹g {}›)");
  expect_line(kPythonic, "<|python_start|>[f(a=[1, {'k': None}])]<|python_end|>",
              R"(‹f {"a": [1, {"k": null}]}›)");
  expect_line(kPythonic, "\n[ f() ,\n g( ) ]\nok", "‹f {}›‹g {}›\nok");
  expect_line(kPythonic, "[f(), h()]", "‹f {}›, h()]");
  expect_line(kPythonic, "[f(a='it\\'s')]", R"(‹f {"a": "it's"}›)");
}

TEST(ToolParser, MistralCallsStandInAListOrAfterTheirNames) {
  expect_line(
      kMistral,
      R"([TOOL_CALLS][{"name": "f", "arguments": {"a": 1}}, {"name": "h", "arguments": {}}])",
      R"(‹f {"a": 1}›‹h {}›)");
  expect_line(kMistral, R"(Well. [TOOL_CALLS] [{"name": "f", "arguments": {}}])", "Well. ‹f {}›");
  expect_line(kMistral, R"([TOOL_CALLS]f{"a": 1}[TOOL_CALLS]g_2{})", R"(‹f {"a": 1}›‹g_2 {}›)");
  expect_line(kMistral, R"([TOOL_CALLS]f[CALL_ID]a1B2c3D4e[ARGS]{"a": {}})", R"(‹f {"a": {}}›)");
  expect_line(kMistral, R"([TOOL_CALLS]f[ARGS]{} )", "‹f {}›");
}

TEST(ToolParser, IdsAreFreshAndOfTheFormatsLength) {
  const std::string hermes = R"(<tool_call>{"name": "f", "arguments": {}}</tool_call>)";
  const ToldCalls told = gather(parsed({.format = kHermes}, {hermes + hermes}));
  ASSERT_EQ(told.ids.size(), 2U);
  EXPECT_NE(told.ids[0], told.ids[1]);
  EXPECT_EQ(told.ids[0].size(), 29U);
  EXPECT_TRUE(told.ids[0].starts_with("call_"));
  EXPECT_EQ(gather(parsed({.format = kMistral}, {"[TOOL_CALLS]f{}"})).ids.at(0).size(), 9U);
}

TEST(ToolParser, TheFirstCallAloneIsToldWhenOnlyOneIsWanted) {
  const std::string call = R"(<tool_call>{"name": "f", "arguments": {}}</tool_call>)";
  EXPECT_EQ(gather(parsed({.format = kHermes, .only_first = true}, {"x" + call + call + "y"})).line,
            "x‹f {}›");
  EXPECT_EQ(gather(parsed({.format = kPythonic, .only_first = true}, {"[f(), g()] y"})).line,
            "‹f {}›");
}

TEST(ToolParser, ArgumentsAreToldWhileTheyCome) {
  std::vector<std::string> parts;
  const std::string text =
      R"(<tool_call>{"name": "f", "arguments": {"a": "abcdefgh"}}</tool_call>)";
  for (const char c : text)
    parts.emplace_back(1, c);
  EXPECT_GT(gather(parsed({.format = kHermes}, parts)).fragments, 10U);
  EXPECT_EQ(gather(parsed({.format = kHermes, .holds_calls = true}, parts)).fragments, 1U);
}

TEST(ToolParser, NestingIsBounded) {
  const auto call = [](size_t depth) {
    return R"(<tool_call>{"name": "f", "arguments": {"a": )" + std::string(depth, '[') +
           std::string(depth, ']') + "}}</tool_call>";
  };
  EXPECT_TRUE(line(kHermes, call(limits::kJsonDepth - 1)).starts_with("‹f"));
  const std::string deep = call(limits::kJsonDepth);
  EXPECT_EQ(line(kHermes, deep), deep);
}

// However the text is cut, what is told is the same; and what is told as arguments is JSON.
TEST(ToolParser, CutsChangeNothing) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const auto below = [&](size_t bound) { return static_cast<size_t>(random()) % bound; };
  const std::vector<std::string> words = {"<tool_call>",
                                          "</tool_call>",
                                          R"({"name": "f", "arguments": )",
                                          R"({"name": "g", )",
                                          R"("parameters": )",
                                          R"({"a": 1})",
                                          R"({"b": "x\n")",
                                          "}",
                                          "{",
                                          "[",
                                          "]",
                                          ",",
                                          "; ",
                                          " ",
                                          "\n",
                                          "[TOOL_CALLS]",
                                          "[ARGS]",
                                          "[CALL_ID]",
                                          "f",
                                          "g",
                                          "(",
                                          ")",
                                          "a=",
                                          "'x'",
                                          "\"",
                                          "1",
                                          "null",
                                          "é",
                                          "<|python_tag|>",
                                          "<|python_start|>",
                                          "<",
                                          "text",
                                          "\\",
                                          "f{",
                                          R"([{"name": "f", "arguments": {}})"};
  for (int round = 0; round < 4000; ++round) {
    std::string text;
    for (size_t i = below(14); i > 0; --i)
      text += words[below(words.size())];
    const ToolFormat format = std::array{kHermes, kLlama, kPythonic, kMistral}[below(4)];
    const bool holds = below(2) == 0;
    std::vector<std::string> parts;
    for (size_t at = 0; at < text.size();) {
      parts.push_back(text.substr(at, 1 + below(5)));
      at += parts.back().size();
    }
    const ToolParserOptions options{
        .format = format, .only_first = below(4) == 0, .holds_calls = holds};
    const ToldCalls once = gather(parsed(options, {text}));
    EXPECT_EQ(gather(parsed(options, parts)).line, once.line) << text;
    if (once.ids.empty() && !options.only_first) {
      EXPECT_EQ(once.line, text);
    }
    if (!holds) continue;
    for (const AnswerPiece& piece : parsed(options, {text})) {
      if (piece.kind != AnswerPiece::Kind::kArguments) continue;
      const Result<Json> json = parse_json(piece.text, "arguments");
      // Keys may stand twice: nobody has looked.
      const bool is_json =
          json.is_ok() || json.status().message().find("twice") != std::string::npos;
      EXPECT_TRUE(is_json) << text;
    }
  }
}

TEST(ToolFormat, IsChosenByNameOrFromTheTemplate) {
  EXPECT_EQ(parse_tool_format("hermes", "").value(), kHermes);
  EXPECT_EQ(parse_tool_format("llama3_json", "").value(), kLlama);
  EXPECT_EQ(parse_tool_format("pythonic", "").value(), kPythonic);
  EXPECT_EQ(parse_tool_format("mistral", "").value(), kMistral);
  EXPECT_EQ(parse_tool_format("none", "<tool_call>").value(), ToolFormat::kNone);
  EXPECT_EQ(parse_tool_format("auto", "x <tool_call> y").value(), kHermes);
  EXPECT_EQ(parse_tool_format("auto", "x [TOOL_CALLS] y").value(), kMistral);
  EXPECT_EQ(
      parse_tool_format("auto", "<|start_header_id|> {\"name\": n, \"parameters\": d}").value(),
      kLlama);
  EXPECT_EQ(parse_tool_format("auto", "<|python_start|>").value(), kPythonic);
  EXPECT_EQ(parse_tool_format("auto", "{{ messages }}").value(), ToolFormat::kNone);
  EXPECT_FALSE(parse_tool_format("xml", "").is_ok());
}

}  // namespace
}  // namespace ingot
