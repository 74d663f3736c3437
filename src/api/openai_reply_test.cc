// SPDX-License-Identifier: Apache-2.0
#include "api/openai_reply.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace ingot {
namespace {

// 6 is the first of the two bytes of "é" (C3 A9), 7 the second.
std::shared_ptr<const Tokenizer> tokenizer() {
  return Tokenizer::from_tokenizer_json(
             R"({"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2,"\u0120":3,"\u0120a":4,
                 "\u010a":5,"\u00c3":6,"\u00a9":7},"merges":["a b","\u0120 a"]},
                 "pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"use_regex":false},
                 "decoder":{"type":"ByteLevel"}})",
             "tokenizer.json")
      .value();
}

CollectedAnswer answer() {
  CollectedAnswer answer;
  PromptReport report;
  report.tokens = 3;
  report.reused_tokens = 2;
  report.logprobs = {std::nullopt, PositionLogprobs{6, -3, {{0, -0.5F}}},
                     PositionLogprobs{7, -0.25F, {{7, -0.25F}}}};
  answer.report = std::make_shared<const PromptReport>(std::move(report));
  answer.choices.push_back({.ids = {4, 1},
                            .text = " ab",
                            .logprobs = {{4, -1, {{4, -1}, {1, -2}}},
                                         {1, -std::numeric_limits<float>::infinity(), {{0, 0}}}},
                            .reason = FinishReason::kLength});
  return answer;
}

Json reply(const OpenAiRequest& request, const CollectedAnswer& given) {
  static const std::shared_ptr<const Tokenizer> kTokenizer = tokenizer();
  const std::vector<CollectedAnswer> answers(request.requests.size(), given);
  const auto prompts = static_cast<int64_t>(answers.size());
  const AnswerCounts counts{
      .prompt_tokens = 3 * prompts, .reused_tokens = 2 * prompts, .generated_tokens = 2 * prompts};
  return openai_reply(request, answers, counts,
                      {.id = "x-1", .created = 7, .model = "m", .tokenizer = kTokenizer.get()});
}

OpenAiRequest request(OpenAiEndpoint endpoint, bool with_logprobs) {
  OpenAiRequest request{.endpoint = endpoint, .requests = {TextRequest{}}, .seed = 5};
  request.requests[0].prompt_ids = {2, 6, 7};
  request.prompt_texts = {"abé"};
  if (with_logprobs) request.requests[0].sampling.logprobs = 2;
  return request;
}

TEST(OpenAiReply, AChatHasTheShapeThatClientsRead) {
  EXPECT_EQ(
      dump_json(reply(request(OpenAiEndpoint::kChat, false), answer())),
      R"({"id":"x-1","object":"chat.completion","created":7,"model":"m","choices":[{"index":0,)"
      R"("message":{"role":"assistant","content":" ab","refusal":null},"logprobs":null,)"
      R"("finish_reason":"length"}],"usage":{"prompt_tokens":3,"completion_tokens":2,)"
      R"("total_tokens":5,"prompt_tokens_details":{"cached_tokens":2},)"
      R"("completion_tokens_details":{"reasoning_tokens":0}},)"
      R"("timings":{"cache_n":2,"prompt_n":1,"prompt_ms":0.0,"prompt_per_second":0.0,)"
      R"("predicted_n":2,"predicted_ms":0.0,"predicted_per_second":0.0},)"
      R"("system_fingerprint":null,"seed":5})");
}

TEST(OpenAiReply, ChatLogprobsTellTextAndBytes) {
  const Json body = reply(request(OpenAiEndpoint::kChat, true), answer());
  EXPECT_EQ(dump_json(body["choices"][0]["logprobs"]),
            R"({"content":[{"token":" a","logprob":-1.0,"bytes":[32,97],"top_logprobs":[)"
            R"({"token":" a","logprob":-1.0,"bytes":[32,97]},)"
            R"({"token":"b","logprob":-2.0,"bytes":[98]}]},)"
            R"({"token":"b","logprob":-9999.0,"bytes":[98],"top_logprobs":[)"
            R"({"token":"a","logprob":0.0,"bytes":[97]}]}],"refusal":null})");
}

TEST(OpenAiReply, BytesOfAPartOfACharacterAreExact) {
  CollectedAnswer part = answer();
  part.choices[0].logprobs = {{6, -1, {}}};
  const Json body = reply(request(OpenAiEndpoint::kChat, true), part);
  const Json& entry = body["choices"][0]["logprobs"]["content"][0];
  EXPECT_EQ(entry["bytes"], Json::array({0xC3}));
  EXPECT_EQ(entry["token"], "\xEF\xBF\xBD");
}

TEST(OpenAiReply, ACompletionListsTokensAndOffsets) {
  const Json body = reply(request(OpenAiEndpoint::kCompletions, true), answer());
  EXPECT_EQ(body["object"], "text_completion");
  EXPECT_EQ(body["choices"][0]["text"], " ab");
  EXPECT_EQ(dump_json(body["choices"][0]["logprobs"]),
            R"({"tokens":[" a","b"],"token_logprobs":[-1.0,-9999.0],)"
            R"("top_logprobs":[{" a":-1.0,"b":-2.0},{"a":0.0,"b":-9999.0}],"text_offset":[0,2]})");
}

TEST(OpenAiReply, AnEchoTellsOfThePromptToo) {
  OpenAiRequest echo = request(OpenAiEndpoint::kCompletions, true);
  echo.echoes = true;
  const Json body = reply(echo, answer());
  const Json& choice = body["choices"][0];
  EXPECT_EQ(choice["text"], "abé ab");
  const Json& logprobs = choice["logprobs"];
  EXPECT_EQ(logprobs["tokens"].size(), 5U);
  EXPECT_TRUE(logprobs["token_logprobs"][0].is_null());
  EXPECT_TRUE(logprobs["top_logprobs"][0].is_null());
  EXPECT_EQ(logprobs["token_logprobs"][1], -3.0);
  EXPECT_EQ(logprobs["top_logprobs"][1].size(), 2U);  // the best, and the token itself
  EXPECT_EQ(logprobs["text_offset"], Json::array({0, 2, 2, 3, 5}));  // in characters
  echo.prompt_texts = {""};                                          // it was given as ids
  EXPECT_EQ(reply(echo, answer())["choices"][0]["text"], "abé ab");
}

TEST(OpenAiReply, IdsAndPromptLogprobsAreToldWhenAskedFor) {
  OpenAiRequest wanted = request(OpenAiEndpoint::kChat, true);
  wanted.returns_token_ids = true;
  wanted.tokens_as_ids = true;
  wanted.hides_prompt_logprobs = false;
  const Json body = reply(wanted, answer());
  EXPECT_EQ(body["prompt_token_ids"], Json::array({2, 6, 7}));
  EXPECT_EQ(body["choices"][0]["token_ids"], Json::array({4, 1}));
  EXPECT_EQ(body["choices"][0]["logprobs"]["content"][0]["token"], "token_id:4");
  ASSERT_EQ(body["prompt_logprobs"].size(), 3U);
  EXPECT_TRUE(body["prompt_logprobs"][0].is_null());
  EXPECT_EQ(body["prompt_logprobs"][1]["0"]["rank"], 1);
  EXPECT_TRUE(body["prompt_logprobs"][1]["6"]["rank"].is_null());
}

TEST(OpenAiReply, SeveralPromptsShareOneList) {
  OpenAiRequest two = request(OpenAiEndpoint::kCompletions, false);
  two.requests.push_back(two.requests[0]);
  two.prompt_texts.push_back(two.prompt_texts[0]);
  two.warnings = {"w"};
  const Json body = reply(two, answer());
  ASSERT_EQ(body["choices"].size(), 2U);
  EXPECT_EQ(body["choices"][1]["index"], 1);
  EXPECT_EQ(body["usage"]["prompt_tokens"], 6);
  EXPECT_EQ(body["warnings"], Json::array({"w"}));
}

TEST(OpenAiError, HasFourFields) {
  EXPECT_EQ(
      dump_json(error_body(to_openai_error(Status::invalid_argument("bad"), "n"))),
      R"({"error":{"message":"bad","type":"invalid_request_error","param":"n","code":null}})");
  const OpenAiError ours = to_openai_error(Status::internal("oops"));
  EXPECT_EQ(ours.http_status, 500);
  EXPECT_EQ(ours.type, "server_error");
}

}  // namespace
}  // namespace ingot
