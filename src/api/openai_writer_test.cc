// SPDX-License-Identifier: Apache-2.0
#include "api/openai_writer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "api/text_sink.h"

namespace ingot {
namespace {

constexpr OpenAiEndpoint kChat = OpenAiEndpoint::kChat;
constexpr OpenAiEndpoint kCompletions = OpenAiEndpoint::kCompletions;

// 6 is the first of the two bytes of "é" (C3 A9), 7 the second; 8 needs an escape.
std::shared_ptr<const Tokenizer> tokenizer() {
  static const std::shared_ptr<const Tokenizer> kTokenizer =
      Tokenizer::from_tokenizer_json(
          R"({"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2,"\u0120":3,"\u0120a":4,
              "\u010a":5,"\u00c3":6,"\u00a9":7,"\"":8},"merges":["a b","\u0120 a"]},
              "pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"use_regex":false},
              "decoder":{"type":"ByteLevel"}})",
          "tokenizer.json")
          .value();
  return kTokenizer;
}

OpenAiRequest request(OpenAiEndpoint endpoint, int32_t n = 1, size_t prompts = 1) {
  OpenAiRequest request{.endpoint = endpoint, .seed = 5};
  for (size_t i = 0; i < prompts; ++i) {
    TextRequest text;
    text.n = n;
    text.prompt_ids = {2, 6, 7};
    request.requests.push_back(text);
    request.prompt_texts.emplace_back("abé");
  }
  return request;
}

std::unique_ptr<AnswerWriter> writer(const OpenAiRequest& request) {
  return make_openai_writer(
      request, {.id = "x-1", .created = 7, .model = "m\"", .tokenizer = tokenizer().get()});
}

// The events of one prompt, made as the engine's own are.
class Told {
 public:
  explicit Told(const TextRequest& request)
      : request_(request),
        sink_({.tokenizer = tokenizer(),
               .stop = request.stop,
               .include_stop = request.include_stop,
               .skip_special = request.skip_special,
               .n = request.n,
               .made = request.n}) {
    PromptReport report;
    report.tokens = 3;
    report.reused_tokens = 2;
    report.prompt_seconds = 0.5;
    if (request.sampling.prompt_logprobs) {
      report.logprobs = {std::nullopt, PositionLogprobs{6, -3, {{0, -0.5F}}},
                         PositionLogprobs{7, -0.25F, {{7, -0.25F}}}};
    }
    sink_.on_prompt(report);
  }

  // False: a stop string has come.
  bool token(TokenId id, int32_t choice = 0) {
    const PositionLogprobs logprobs{id, -1, {{id, -1}, {0, -2}}};
    return sink_.on_token(choice, id, request_.sampling.logprobs ? &logprobs : nullptr);
  }
  void finish(FinishReason reason = FinishReason::kStop, int32_t choice = 0) {
    sink_.on_finish(choice, reason);
  }
  std::vector<TextEvent> events() {
    std::vector<TextEvent> events;
    while (std::optional<TextEvent> event = sink_.try_next())
      events.push_back(*std::move(event));
    return events;
  }

 private:
  TextRequest request_;
  TextSink sink_;
};

std::vector<TextEvent> tell(const TextRequest& request, const std::vector<TokenId>& ids,
                            FinishReason reason = FinishReason::kStop) {
  Told told(request);
  for (const TokenId id : ids) {
    if (!told.token(id)) break;
  }
  told.finish(reason);
  return told.events();
}

std::string written(AnswerWriter& writer, const std::vector<TextEvent>& events,
                    const Status& status = {}) {
  std::string out;
  writer.begin(out);
  for (const TextEvent& event : events)
    writer.take(0, event, out);
  writer.end(status, out);
  return out;
}

// The data of each event.
std::vector<std::string> data_of(std::string_view stream) {
  std::vector<std::string> lines;
  while (!stream.empty()) {
    EXPECT_TRUE(stream.starts_with("data: "));
    const size_t end = stream.find("\n\n");
    EXPECT_NE(end, std::string_view::npos);
    lines.emplace_back(stream.substr(6, end - 6));
    stream.remove_prefix(end + 2);
  }
  return lines;
}

// All but the last, which is [DONE].
std::vector<Json> chunks_of(std::string_view stream) {
  std::vector<std::string> lines = data_of(stream);
  EXPECT_EQ(lines.back(), "[DONE]");
  lines.pop_back();
  std::vector<Json> chunks;
  chunks.reserve(lines.size());
  for (const std::string& line : lines)
    chunks.push_back(parse_json(line, "event").value());
  return chunks;
}

std::vector<Json> streamed(OpenAiRequest request, const std::vector<TextEvent>& events,
                           const Status& status = {}) {
  request.streams = true;
  return chunks_of(written(*writer(request), events, status));
}

Json whole(const OpenAiRequest& request, const std::vector<TextEvent>& events) {
  return parse_json(written(*writer(request), events), "body").value();
}

TEST(OpenAiWriter, AChatStreamsInTheShapeThatClientsRead) {
  OpenAiRequest chat = request(kChat);
  chat.streams = true;
  const auto lines = data_of(written(*writer(chat), tell(chat.requests[0], {2, 8})));
  ASSERT_EQ(lines.size(), 4U);
  const std::string head =
      R"({"id":"x-1","object":"chat.completion.chunk","created":7,"model":"m\"",)"
      R"("system_fingerprint":null,"choices":[{"index":0,"delta":)";
  EXPECT_EQ(lines[0],
            head + R"({"role":"assistant","content":"ab"},"logprobs":null,"finish_reason":null}],)"
                   R"("seed":5})");
  EXPECT_EQ(lines[1], head + R"({"content":"\""},"logprobs":null,"finish_reason":null}]})");
  EXPECT_TRUE(lines[2].starts_with(
      head + R"({},"logprobs":null,"finish_reason":"stop"}],"timings":{"cache_n":2,"prompt_n":1,)"
             R"("prompt_ms":500.0,"prompt_per_second":2.0,"predicted_n":2,)"))
      << lines[2];
  EXPECT_EQ(lines[3], "[DONE]");
}

TEST(OpenAiWriter, TokensWithoutTextAreToldWithTheNext) {
  OpenAiRequest chat = request(kChat);
  chat.returns_token_ids = true;
  chat.requests[0].sampling.logprobs = 1;
  const std::vector<Json> chunks = streamed(chat, tell(chat.requests[0], {6, 7, 6}));
  ASSERT_EQ(chunks.size(), 2U);
  EXPECT_EQ(chunks[0]["choices"][0]["delta"]["content"], "é");
  EXPECT_EQ(chunks[0]["choices"][0]["token_ids"], Json::array({6, 7}));
  EXPECT_EQ(chunks[0]["choices"][0]["logprobs"]["content"].size(), 2U);
  EXPECT_EQ(chunks[0]["prompt_token_ids"], Json::array({2, 6, 7}));
  EXPECT_EQ(chunks[1]["choices"][0]["delta"]["content"], "\xEF\xBF\xBD");
  EXPECT_EQ(chunks[1]["choices"][0]["token_ids"], Json::array({6}));
  EXPECT_EQ(chunks[1]["choices"][0]["logprobs"]["content"].size(), 1U);
  EXPECT_EQ(chunks[1]["choices"][0]["finish_reason"], "stop");
  EXPECT_FALSE(chunks[1].contains("prompt_token_ids"));
}

TEST(OpenAiWriter, UsageComesLastWhenAskedFor) {
  OpenAiRequest chat = request(kChat);
  chat.includes_usage = true;
  const auto events = tell(chat.requests[0], {2, 1}, FinishReason::kLength);
  const std::vector<Json> chunks = streamed(chat, events);
  ASSERT_EQ(chunks.size(), 4U);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(chunks[i].contains("usage"));
    EXPECT_TRUE(chunks[i]["usage"].is_null());
    EXPECT_FALSE(chunks[i].contains("timings"));
  }
  EXPECT_EQ(chunks[2]["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(chunks[3]["choices"], Json::array());
  EXPECT_EQ(chunks[3]["usage"], whole(request(kChat), events)["usage"]);
  EXPECT_EQ(chunks[3]["timings"]["predicted_n"], 2);
  chat.continuous_usage = true;
  const std::vector<Json> continuous = streamed(chat, events);
  EXPECT_EQ(continuous[0]["usage"]["completion_tokens"], 1);
  EXPECT_EQ(continuous[1]["usage"]["completion_tokens"], 2);
  EXPECT_EQ(continuous[1]["usage"]["total_tokens"], 5);
}

TEST(OpenAiWriter, WarningsComeWithTheFirstEvent) {
  OpenAiRequest chat = request(kChat);
  chat.warnings = {"w"};
  const std::vector<Json> chunks = streamed(chat, tell(chat.requests[0], {2, 1}));
  EXPECT_EQ(chunks[0]["warnings"], Json::array({"w"}));
  EXPECT_FALSE(chunks[1].contains("warnings"));
}

TEST(OpenAiWriter, ACompletionEchoesItsPromptFirst) {
  OpenAiRequest echo = request(kCompletions, 2);
  echo.echoes = true;
  echo.requests[0].sampling.logprobs = 1;
  echo.requests[0].sampling.prompt_logprobs = 1;
  Told told(echo.requests[0]);
  told.token(4, 1);
  told.token(1, 1);
  told.finish(FinishReason::kLength, 1);
  told.token(0, 0);
  told.finish(FinishReason::kLength, 0);
  const auto events = told.events();
  const Json body = whole(echo, events);
  std::array<std::string, 2> texts;
  std::array<Json, 2> lists;
  for (const Json& chunk : streamed(echo, events)) {
    const Json& choice = chunk["choices"][0];
    const auto index = choice["index"].get<size_t>();
    texts[index] += choice["text"].get<std::string>();
    if (choice["logprobs"].is_null()) continue;
    for (const auto& [name, list] : choice["logprobs"].items()) {
      for (const Json& entry : list)
        lists[index][name].push_back(entry);
    }
  }
  EXPECT_EQ(texts[1], "abé ab");
  EXPECT_EQ(lists[1]["text_offset"], Json::array({0, 2, 2, 3, 5}));
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(texts[i], body["choices"][i]["text"]);
    EXPECT_EQ(lists[i], body["choices"][i]["logprobs"]);
  }
}

// What lm-evaluation-harness asks and reads: every token of the prompt, then the generated ones.
TEST(OpenAiWriter, EchoedLogprobsCoverThePromptAndWhatFollows) {
  OpenAiRequest echo = request(kCompletions);
  echo.echoes = true;
  echo.requests[0].sampling.logprobs = 1;
  echo.requests[0].sampling.prompt_logprobs = 1;
  for (const bool streams : {false, true}) {
    for (const std::vector<TokenId>& ids : {std::vector<TokenId>{}, std::vector<TokenId>{1}}) {
      const auto events = tell(echo.requests[0], ids, FinishReason::kLength);
      const Json choice = streams ? streamed(echo, events).front()["choices"][0]
                                  : whole(echo, events)["choices"][0];
      const Json& logprobs = choice["logprobs"];
      EXPECT_EQ(choice["text"], ids.empty() ? "abé" : "abéb");
      ASSERT_EQ(logprobs["tokens"].size(), 3 + ids.size());
      EXPECT_TRUE(logprobs["token_logprobs"][0].is_null());
      EXPECT_TRUE(logprobs["top_logprobs"][0].is_null());
      for (size_t i = 1; i < 3 + ids.size(); ++i) {
        const Json& top = logprobs["top_logprobs"][i];
        ASSERT_FALSE(top.empty());
        const auto name = logprobs["tokens"][i].get<std::string>();
        EXPECT_EQ(top[name], logprobs["token_logprobs"][i]);
      }
    }
  }
}

TEST(OpenAiWriter, PromptsAndChoicesAreToldApartByIndex) {
  OpenAiRequest two = request(kCompletions, 2, 2);
  two.streams = true;
  const auto stream = writer(two);
  std::string out;
  for (const size_t prompt : {1U, 0U}) {
    Told told(two.requests[prompt]);
    for (const int32_t choice : {0, 1}) {
      told.token(static_cast<TokenId>(prompt), choice);
      told.finish(FinishReason::kStop, choice);
    }
    for (TextEvent& event : told.events())
      stream->take(prompt, std::move(event), out);
  }
  stream->end({}, out);
  std::array<std::string, 4> texts;
  const std::vector<Json> chunks = chunks_of(out);
  for (const Json& chunk : chunks)
    texts[chunk["choices"][0]["index"].get<size_t>()] += chunk["choices"][0]["text"];
  EXPECT_EQ(texts, (std::array<std::string, 4>{"a", "a", "b", "b"}));
  for (size_t i = 0; i + 1 < chunks.size(); ++i)
    EXPECT_FALSE(chunks[i].contains("timings"));
  EXPECT_TRUE(chunks.back().contains("timings"));
}

TEST(OpenAiWriter, ABrokenOffAnswerEndsWithAnError) {
  const OpenAiRequest chat = request(kChat);
  const auto events = tell(chat.requests[0], {2, 6}, FinishReason::kDeadline);
  const std::vector<Json> chunks = streamed(chat, events);
  ASSERT_EQ(chunks.size(), 3U);
  EXPECT_EQ(chunks[1]["choices"][0]["delta"]["content"], "\xEF\xBF\xBD");
  EXPECT_TRUE(chunks[1]["choices"][0]["finish_reason"].is_null());
  EXPECT_EQ(chunks[2]["error"]["code"], "timeout");
  const auto body = writer(chat);
  EXPECT_EQ(written(*body, events), "");
  ASSERT_TRUE(body->broken_off().has_value());
  EXPECT_EQ(body->broken_off()->http_status, 504);
  EXPECT_EQ(broken_off_error(FinishReason::kCancelled)->code, "cancelled");
  EXPECT_FALSE(broken_off_error(FinishReason::kLength).has_value());
}

TEST(OpenAiWriter, FailuresAreEventsOnceTheStreamHasBegun) {
  OpenAiRequest chat = request(kChat);
  auto events = tell(chat.requests[0], {2});
  events.pop_back();
  const Status failed = Status::internal("oops");
  const std::vector<Json> chunks = streamed(chat, events, failed);
  ASSERT_EQ(chunks.size(), 2U);
  EXPECT_EQ(chunks[1]["error"]["message"], "oops");
  EXPECT_EQ(written(*writer(chat), events, failed), "");
  const std::string plain = dump_json(error_body(to_openai_error(failed)));
  EXPECT_EQ(writer(chat)->fail(to_openai_error(failed)), plain);
  chat.streams = true;
  const auto stream = writer(chat);
  EXPECT_EQ(stream->fail(to_openai_error(failed)), plain);
  std::string out;
  for (const TextEvent& event : events)
    stream->take(0, event, out);
  EXPECT_EQ(stream->fail(to_openai_error(failed)), "data: " + plain + "\n\n");
}

std::vector<TextEvent> spoken(const std::vector<std::string>& texts,
                              FinishReason reason = FinishReason::kStop) {
  std::vector<TextEvent> events;
  for (const std::string& text : texts) {
    events.emplace_back();
    events.back().text = text;
  }
  events.emplace_back();
  events.back().kind = TextEvent::Kind::kFinish;
  events.back().reason = reason;
  return events;
}

TEST(OpenAiWriter, CallsOfToolsAreToldAsOpenAiDoes) {
  OpenAiRequest chat = request(kChat);
  chat.format = {.tools = ToolFormat::kHermes, .tool_names = {"f"}};
  const auto events =
      spoken({"<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\"", ": \"x\\n\"}}", "\n</tool",
              "_call>\n<tool_call>{\"name\": \"g\", \"arguments\": {}}</tool_call>"});
  const Json body = whole(chat, events);
  const Json& message = body["choices"][0]["message"];
  EXPECT_TRUE(message["content"].is_null());
  ASSERT_EQ(message["tool_calls"].size(), 2U);
  EXPECT_EQ(message["tool_calls"][0]["type"], "function");
  EXPECT_EQ(message["tool_calls"][0]["function"]["name"], "f");
  EXPECT_EQ(message["tool_calls"][0]["function"]["arguments"], R"({"a": "x\n"})");
  EXPECT_EQ(message["tool_calls"][1]["function"]["arguments"], "{}");
  EXPECT_EQ(body["choices"][0]["finish_reason"], "tool_calls");

  const std::vector<Json> chunks = streamed(chat, events);
  ASSERT_EQ(chunks.size(), 4U);
  const Json& first = chunks[0]["choices"][0]["delta"];
  EXPECT_EQ(first["role"], "assistant");
  EXPECT_TRUE(first["content"].is_null());
  const Json& opened = first["tool_calls"][0];
  EXPECT_EQ(opened["index"], 0);
  EXPECT_EQ(opened["type"], "function");
  EXPECT_EQ(opened["id"].get<std::string>().size(), 29U);
  EXPECT_EQ(opened["function"]["name"], "f");
  EXPECT_EQ(opened["function"]["arguments"], R"({"a")");
  EXPECT_EQ(dump_json(chunks[1]["choices"][0]["delta"]),
            R"({"tool_calls":[{"index":0,"function":{"arguments":": \"x\\n\"}"}}]})");
  EXPECT_EQ(chunks[2]["choices"][0]["delta"]["tool_calls"][0]["index"], 1);
  EXPECT_EQ(chunks[3]["choices"][0]["finish_reason"], "tool_calls");
  EXPECT_EQ(whole(chat, spoken({"no call"}))["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(whole(chat, spoken({"<tool_call>{\"name\": \"f\", \"arguments\": {}}"},
                               FinishReason::kLength))["choices"][0]["finish_reason"],
            "length");
}

TEST(OpenAiWriter, ThoughtsHaveFieldsOfTheirOwn) {
  OpenAiRequest chat = request(kChat);
  chat.format.reasoning = ReasoningMarks{"<think>", "</think>"};
  const auto events = spoken({"<think>", "hm", "</think>", "\n\nyes"});
  const Json body = whole(chat, events);
  EXPECT_EQ(body["choices"][0]["message"]["content"], "yes");
  EXPECT_EQ(body["choices"][0]["message"]["reasoning_content"], "hm");
  EXPECT_EQ(body["choices"][0]["message"]["reasoning"], "hm");
  EXPECT_EQ(body["usage"]["completion_tokens_details"]["reasoning_tokens"], 3);
  chat.includes_usage = true;
  const std::vector<Json> chunks = streamed(chat, events);
  ASSERT_EQ(chunks.size(), 4U);
  EXPECT_EQ(dump_json(chunks[0]["choices"][0]["delta"]),
            R"({"role":"assistant","reasoning_content":"hm","reasoning":"hm","content":null})");
  EXPECT_EQ(dump_json(chunks[1]["choices"][0]["delta"]), R"({"content":"yes"})");
  EXPECT_EQ(chunks[3]["usage"], body["usage"]);
  chat.format.hides_reasoning = true;
  EXPECT_FALSE(whole(chat, events)["choices"][0]["message"].contains("reasoning"));
  EXPECT_EQ(streamed(chat, events).size(), 3U);
}

// Random answers, stop strings and cuts: what is streamed is what the body holds, to the byte.
TEST(OpenAiWriter, TheStreamAndTheBodyHoldTheSameText) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const auto below = [&](size_t bound) { return static_cast<size_t>(random()) % bound; };
  const std::array<std::string, 6> stops = {"ab", "aa\n", "é", "\"", " a b", "bbbb"};
  for (int round = 0; round < 300; ++round) {
    OpenAiRequest asked = request(below(2) == 0 ? kChat : kCompletions, 2);
    TextRequest& text = asked.requests[0];
    for (size_t i = below(3); i > 0; --i)
      text.stop.push_back(stops[below(stops.size())]);
    text.include_stop = below(2) == 0;
    asked.echoes = asked.endpoint == kCompletions && below(2) == 0;
    asked.includes_usage = below(2) == 0;
    asked.returns_token_ids = below(2) == 0;
    if (below(2) == 0) text.sampling.logprobs = 1;
    Told told(text);
    std::array<bool, 2> is_over{};
    for (size_t i = below(60); i > 0; --i) {
      const auto choice = below(2);
      if (is_over[choice]) continue;
      const auto at = static_cast<int32_t>(choice);
      is_over[choice] = !told.token(static_cast<TokenId>(below(9)), at);
      if (is_over[choice]) told.finish(FinishReason::kStop, at);
    }
    for (const size_t choice : {0U, 1U}) {
      if (!is_over[choice]) told.finish(FinishReason::kLength, static_cast<int32_t>(choice));
    }
    const auto events = told.events();
    const Json body = whole(asked, events);
    std::array<std::string, 2> texts;
    std::array<Json, 2> ids{Json::array(), Json::array()};
    std::array<Json, 2> reasons;
    std::array<size_t, 2> logprobs{};
    for (const Json& chunk : streamed(asked, events)) {
      if (chunk["choices"].empty()) continue;
      const Json& choice = chunk["choices"][0];
      const auto index = choice["index"].get<size_t>();
      if (asked.endpoint == kChat) {
        if (choice["delta"].contains("content"))
          texts[index] += choice["delta"]["content"].get<std::string>();
        if (!choice["logprobs"].is_null()) logprobs[index] += choice["logprobs"]["content"].size();
      } else {
        texts[index] += choice["text"].get<std::string>();
        if (!choice["logprobs"].is_null()) logprobs[index] += choice["logprobs"]["tokens"].size();
      }
      if (asked.returns_token_ids) {
        for (const Json& id : choice["token_ids"])
          ids[index].push_back(id);
      }
      reasons[index] = choice["finish_reason"];
    }
    for (size_t i = 0; i < 2; ++i) {
      const Json& choice = body["choices"][i];
      EXPECT_EQ(texts[i], asked.endpoint == kChat ? choice["message"]["content"] : choice["text"]);
      EXPECT_EQ(reasons[i], choice["finish_reason"]);
      if (asked.returns_token_ids) {
        EXPECT_EQ(ids[i], choice["token_ids"]);
      }
      if (!text.sampling.logprobs) continue;
      const Json& told_of = choice["logprobs"][asked.endpoint == kChat ? "content" : "tokens"];
      EXPECT_EQ(logprobs[i], told_of.size());
    }
  }
}

}  // namespace
}  // namespace ingot
