// SPDX-License-Identifier: Apache-2.0
#include "api/ollama_reply.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/rfc3339.h"
#include "api/writer_test_events.h"

namespace ingot {
namespace {

using std::chrono::milliseconds;
using Steady = std::chrono::steady_clock::time_point;
using System = std::chrono::system_clock::time_point;

constexpr std::string_view kTime = "2001-09-09T01:46:40.000000007Z";

System now() {
  return System(std::chrono::seconds(1'000'000'000) + std::chrono::nanoseconds(7));
}

OllamaReplyInfo info() {
  return {.tokenizer = nullptr, .started = Steady(milliseconds(100)), .now = now};
}

OllamaRequest request(OllamaEndpoint endpoint, bool streams) {
  return {.endpoint = endpoint, .model = "m:latest", .chat = {.streams = streams}};
}

TextEvent at(TextEvent event, int64_t time_ms) {
  event.time = Steady(milliseconds(time_ms));
  return event;
}

std::vector<TextEvent> events() {
  return {at(prompt_event(7, 3, 0.25), 400), at(token_event("Hel"), 500), at(token_event(""), 550),
          at(token_event("lo"), 600), at(finish_event(FinishReason::kLength), 700)};
}

constexpr std::string_view kCounts =
    R"("done":true,"done_reason":"length","total_duration":600000000,"load_duration":0,)"
    R"("prompt_eval_count":7,"prompt_eval_duration":250000000,"eval_count":3,)"
    R"("eval_duration":300000000})";

TEST(OllamaReply, AChatStreamsOneObjectALine) {
  const auto writer = ollama_writer(request(OllamaEndpoint::kChat, true), info(), nullptr);
  EXPECT_EQ(writer->content_type(), "application/x-ndjson");
  const auto line = [](std::string_view text) {
    return fmt::format(R"({{"model":"m:latest","created_at":"{}",)"
                       R"("message":{{"role":"assistant","content":"{}"}},)",
                       kTime, text);
  };
  EXPECT_EQ(told(*writer, events()), fmt::format("{}\"done\":false}}\n{}\"done\":false}}\n{}{}\n",
                                                 line("Hel"), line("lo"), line(""), kCounts));
}

TEST(OllamaReply, GenerateHasAResponse) {
  const auto writer = ollama_writer(request(OllamaEndpoint::kGenerate, false), info(), nullptr);
  EXPECT_EQ(writer->content_type(), "application/json");
  EXPECT_EQ(told(*writer, events()),
            fmt::format(R"({{"model":"m:latest","created_at":"{}","response":"Hello",{})", kTime,
                        kCounts));
}

TEST(OllamaReply, CallsAreToldWholeWithArgumentsAsAnObject) {
  const auto writer =
      ollama_writer(request(OllamaEndpoint::kChat, true), info(), std::make_unique<BracketParts>());
  const std::string out =
      told(*writer, {prompt_event(1), token_event("[get{\"a\":"), token_event("1}]"),
                     token_event("[put"
                                 "]"),
                     finish_event(FinishReason::kStop)});
  std::vector<Json> lines;
  for (size_t begin = 0; begin < out.size(); begin = out.find('\n', begin) + 1) {
    lines.push_back(
        parse_json(std::string_view(out).substr(begin, out.find('\n', begin) - begin), "line")
            .value());
  }
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(dump_json(lines[0]["message"]["tool_calls"]),
            R"([{"id":"call_0","function":{"index":0,"name":"get","arguments":{"a":1}}}])");
  EXPECT_EQ(dump_json(lines[1]["message"]["tool_calls"]),
            R"([{"id":"call_1","function":{"index":1,"name":"put","arguments":{}}}])");
  EXPECT_EQ(lines[2]["done_reason"], "stop");
}

TEST(OllamaReply, ThoughtsHaveAFieldOfTheirOwn) {
  const auto writer = ollama_writer(request(OllamaEndpoint::kChat, false), info(),
                                    std::make_unique<BracketParts>());
  const std::string out =
      told(*writer, {prompt_event(1), token_event("(hm)Yes"), finish_event(FinishReason::kStop)});
  EXPECT_NE(out.find(R"("message":{"role":"assistant","content":"Yes","thinking":"hm"})"),
            std::string::npos)
      << out;
}

TEST(OllamaReply, LogprobsTravelWithTheirText) {
  TextEvent held = token_event("", 5);
  held.logprobs = PositionLogprobs{5, -0.5F, {}};
  TextEvent shown = token_event("ab", 6);
  shown.logprobs = PositionLogprobs{6, -1, {{6, -1}, {8, -2}}};
  const auto writer = ollama_writer(request(OllamaEndpoint::kGenerate, true), info(), nullptr);
  std::string out;
  writer->take(0, prompt_event(1), out);
  writer->take(0, held, out);
  EXPECT_EQ(out, "");
  writer->take(0, shown, out);
  EXPECT_EQ(dump_json(parse_json(out, "line").value()["logprobs"]),
            R"([{"token":"token_id:5","logprob":-0.5,"bytes":[]},)"
            R"({"token":"token_id:6","logprob":-1.0,"bytes":[],"top_logprobs":)"
            R"([{"token":"token_id:6","logprob":-1.0,"bytes":[]},)"
            R"({"token":"token_id:8","logprob":-2.0,"bytes":[]}]}])");
}

TEST(OllamaReply, ErrorsAreOneObject) {
  const auto writer = ollama_writer(request(OllamaEndpoint::kChat, true), info(), nullptr);
  EXPECT_EQ(writer->fail({.http_status = 400, .message = "no"}), R"({"error":"no"})");
  std::string out;
  writer->take(0, token_event("a"), out);
  out.clear();
  writer->end(Status::internal("broken"), out);
  EXPECT_EQ(out, "{\"error\":\"broken\"}\n");
  const auto whole = ollama_writer(request(OllamaEndpoint::kChat, false), info(), nullptr);
  out.clear();
  whole->end(Status::internal("broken"), out);
  EXPECT_EQ(out, "");
}

TEST(OllamaReply, LoadingAnswersAtOnce) {
  OllamaRequest load = request(OllamaEndpoint::kGenerate, true);
  load.is_load = true;
  EXPECT_EQ(dump_json(ollama_load_reply(load, now())),
            fmt::format(R"({{"model":"m:latest","created_at":"{}","response":"","done":true,)"
                        R"("done_reason":"load"}})",
                        kTime));
  load.is_unload = true;
  EXPECT_EQ(ollama_load_reply(load, now())["done_reason"], "unload");
}

TEST(OllamaReply, WarningsComeLast) {
  OllamaRequest warned = request(OllamaEndpoint::kChat, true);
  warned.chat.warnings = {"careful"};
  EXPECT_TRUE(told(*ollama_writer(warned, info(), nullptr), events())
                  .ends_with("\"warnings\":[\"careful\"]}\n"));
}

TEST(Rfc3339, CountsFromTheEpochAndBefore) {
  EXPECT_EQ(rfc3339(System()), "1970-01-01T00:00:00.000000000Z");
  EXPECT_EQ(rfc3339(System(std::chrono::seconds(951'782'400))), "2000-02-29T00:00:00.000000000Z");
  EXPECT_EQ(rfc3339(System(std::chrono::milliseconds(-1))), "1969-12-31T23:59:59.999000000Z");
}

}  // namespace
}  // namespace ingot
