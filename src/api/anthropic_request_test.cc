// SPDX-License-Identifier: Apache-2.0
#include "api/anthropic_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/limits.h"

namespace ingot {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const OpenAiParser& parser() {
  static const OpenAiParser kParser(
      {.sampling = {.temperature = 0.5F, .eos_ids = {7}}, .tokenizer = nullptr, .vocab = 1000});
  return kParser;
}

OpenAiRequest parsed(const std::string& body,
                     AnthropicEndpoint endpoint = AnthropicEndpoint::kMessages) {
  auto result = parse_anthropic_text(parser(), endpoint, body);
  if (const auto* error = std::get_if<OpenAiError>(&result)) {
    ADD_FAILURE() << body << ": " << error->message;
    return {.requests = {TextRequest{}}};
  }
  return std::get<OpenAiRequest>(std::move(result));
}

// The least a request needs, and `fields` after it.
OpenAiRequest with(std::string_view fields) {
  return parsed(fmt::format(
      R"({{"max_tokens":5,"messages":[{{"role":"user","content":"hi"}}],{}}})", fields));
}

OpenAiError error_of(const std::string& body) {
  auto result = parse_anthropic_text(parser(), AnthropicEndpoint::kMessages, body);
  if (const auto* error = std::get_if<OpenAiError>(&result)) return *error;
  ADD_FAILURE() << body << " was taken";
  return {};
}

void expect_refused(std::string_view fields, std::string_view param, std::string_view says = "") {
  const OpenAiError error = error_of(fmt::format(
      R"({{"max_tokens":5,"messages":[{{"role":"user","content":"hi"}}],{}}})", fields));
  EXPECT_EQ(error.param, param) << error.message;
  EXPECT_EQ(error.http_status, 400);
  EXPECT_TRUE(error.message.starts_with(param)) << error.message;
  EXPECT_THAT(error.message, HasSubstr(std::string(says)));
}

std::string messages_of(std::string_view fields) {
  return parsed(fmt::format(R"({{"max_tokens":5,{}}})", fields)).requests.at(0).messages;
}

std::string messages_error(std::string_view messages) {
  const OpenAiError error = error_of(fmt::format(R"({{"max_tokens":5,"messages":{}}})", messages));
  EXPECT_EQ(error.param, "messages");
  EXPECT_EQ(error.http_status, 400);
  return error.message;
}

TEST(AnthropicRequest, MapsTheFieldsOfTheSchema) {
  const OpenAiRequest request = parsed(
      R"({"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"stream":true,
          "stop_sequences":["END","\n\n"],"temperature":0.25,"top_p":0.5,"top_k":3,"seed":4,
          "metadata":{"user_id":"u"},"service_tier":"auto","inference_geo":null})");
  const TextRequest& text = request.requests.at(0);
  EXPECT_EQ(request.model, "m");
  EXPECT_TRUE(request.streams);
  EXPECT_EQ(text.max_tokens, 9);
  EXPECT_THAT(text.stop, ElementsAre("END", "\n\n"));
  EXPECT_EQ(text.sampling.temperature, 0.25F);
  EXPECT_EQ(text.sampling.top_p, 0.5F);
  EXPECT_EQ(text.sampling.top_k, 3);
  EXPECT_EQ(text.sampling.seed, 4U);
  EXPECT_THAT(text.sampling.eos_ids, ElementsAre(7));
  EXPECT_THAT(request.warnings, IsEmpty());
}

TEST(AnthropicRequest, NeedsMaxTokensButNotToCount) {
  const std::string body = R"({"messages":[{"role":"user","content":"hi"}]})";
  const OpenAiError error = error_of(body);
  EXPECT_EQ(error.param, "max_tokens");
  EXPECT_EQ(error.message, "max_tokens is missing");
  EXPECT_THAT(parsed(body, AnthropicEndpoint::kCountTokens).requests.at(0).messages,
              HasSubstr("hi"));
}

TEST(AnthropicRequest, MaxTokensMayBeZeroToFillTheCache) {
  EXPECT_EQ(parsed(R"({"max_tokens":0,"messages":[{"role":"user","content":"hi"}]})")
                .requests.at(0)
                .max_tokens,
            0);
}

TEST(AnthropicRequest, SystemIsTheFirstMessage) {
  EXPECT_EQ(messages_of(R"("system":"Be brief.","messages":[{"role":"user","content":"hi"}])"),
            R"([{"role":"system","content":"Be brief."},{"role":"user","content":"hi"}])");
  EXPECT_EQ(messages_of(R"("system":[{"type":"text","text":"a","cache_control":{"type":
                "ephemeral"}},{"type":"text","text":"b"}],"messages":[{"role":"user","content":
                [{"type":"text","text":"x"},{"type":"text","text":"y"}]}])"),
            R"([{"role":"system","content":"a\nb"},{"role":"user","content":"x\ny"}])");
}

TEST(AnthropicRequest, TurnsOfOneSpeakerBecomeOne) {
  EXPECT_EQ(messages_of(R"("messages":[{"role":"user","content":"a"},{"role":"user","content":"b"},
                {"role":"assistant","content":"c"},{"role":"user","content":"d"}])"),
            R"([{"role":"user","content":"a\nb"},{"role":"assistant","content":"c"},)"
            R"({"role":"user","content":"d"}])");
}

TEST(AnthropicRequest, BlocksOfToolsBecomeCallsAndTheirMessages) {
  EXPECT_EQ(
      messages_of(R"("messages":[{"role":"user","content":"weather?"},
          {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},
            {"type":"text","text":"Looking."},
            {"type":"tool_use","id":"t1","name":"get","input":{"city":"Rome"}}]},
          {"role":"user","content":[
            {"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"20 C"}]},
            {"type":"tool_result","tool_use_id":"t2","is_error":true},
            {"type":"text","text":"And?"}]}])"),
      R"([{"role":"user","content":"weather?"},)"
      R"({"role":"assistant","content":"Looking.","reasoning_content":"hm","tool_calls":)"
      R"([{"id":"t1","type":"function","function":{"name":"get","arguments":{"city":"Rome"}}}]},)"
      R"({"role":"tool","content":"20 C","name":"get","tool_call_id":"t1"},)"
      R"({"role":"tool","content":"","tool_call_id":"t2"},{"role":"user","content":"And?"}])");
}

TEST(AnthropicRequest, ToolsBecomeFunctions) {
  const std::string_view tools =
      R"("tools":[{"name":"get","description":"d","input_schema":{"type":"object"},
         "cache_control":{"type":"ephemeral"}}])";
  EXPECT_EQ(with(tools).requests.at(0).tools,
            R"([{"type":"function","function":{"name":"get","description":"d",)"
            R"("parameters":{"type":"object"}}}])");
  EXPECT_THAT(with(fmt::format(R"({},"tool_choice":{{"type":"none"}})", tools)).requests[0].tools,
              IsEmpty());
  EXPECT_NE(with(fmt::format(R"({},"tool_choice":{{"type":"auto"}})", tools)).requests[0].tools,
            "");
}

TEST(AnthropicRequest, RefusesForcedToolsByName) {
  expect_refused(R"("tool_choice":{"type":"any"})", "tool_choice", "cannot be forced");
  expect_refused(R"("tool_choice":{"type":"tool","name":"get"})", "tool_choice");
  expect_refused(R"("tool_choice":"auto")", "tool_choice");
  expect_refused(R"("tools":[{"name":"get","input_schema":{}}],
                     "tool_choice":{"type":"auto","disable_parallel_tool_use":1})",
                 "tool_choice");
}

TEST(AnthropicRequest, RefusesToolsThatAreNotTheClients) {
  expect_refused(R"("tools":[{"type":"web_search_20250305","name":"web_search"}])", "tools",
                 "web_search_20250305");
  expect_refused(R"("tools":[{"name":"get"}])", "tools", "input_schema");
  expect_refused(R"("tools":[{"input_schema":{}}])", "tools", "name");
  expect_refused(R"("tools":[{"name":"a","input_schema":{},"strict":true}])", "tools", "strict");
  expect_refused(R"("tools":{})", "tools");
  std::string many;
  for (size_t i = 0; i <= limits::kRequestTools; ++i)
    many += fmt::format(R"({}{{"name":"t{}","input_schema":{{}}}})", i == 0 ? "" : ",", i);
  expect_refused(fmt::format(R"("tools":[{}])", many), "tools", "128");
}

TEST(AnthropicRequest, ThinkingIsToldWhenAskedForAndCanBeSwitchedOff) {
  EXPECT_EQ(with(R"("thinking":{"type":"disabled"})").requests[0].template_kwargs,
            R"({"enable_thinking":false})");
  EXPECT_EQ(with(R"("thinking":{"type":"adaptive"})").requests[0].template_kwargs, "");
  EXPECT_TRUE(with(R"("top_k":5)").format.hides_reasoning);
  EXPECT_FALSE(with(R"("thinking":{"type":"adaptive"})").format.hides_reasoning);
  const OpenAiRequest enabled = with(R"("thinking":{"type":"enabled","budget_tokens":2048})");
  EXPECT_FALSE(enabled.format.hides_reasoning);
  EXPECT_EQ(enabled.warnings.size(), 1u);
  expect_refused(R"("thinking":{"type":"sometimes"})", "thinking");
  EXPECT_EQ(with(R"("output_config":{"effort":"low"})").requests[0].template_kwargs,
            R"({"reasoning_effort":"low"})");
  expect_refused(R"("output_config":{"effort":"huge"})", "output_config.effort");
  expect_refused(R"("output_config":{"format":{"type":"json_schema"}})", "output_config");
}

TEST(AnthropicRequest, RefusesWrongValuesByTheNamesOfItsSchema) {
  expect_refused(R"("stop_sequences":[""])", "stop_sequences");
  expect_refused(R"("stop_sequences":"x","temperature":-1)", "temperature");
  expect_refused(R"("top_k":"many")", "top_k");
  expect_refused(R"("stream":1)", "stream");
  expect_refused(R"("metadata":{"user_id":5})", "metadata");
  expect_refused(R"("system":5)", "system");
  expect_refused(R"("system":[{"type":"image"}])", "system", "image");
  expect_refused(R"("container":"c")", "container");
  expect_refused(R"("mcp_servers":[{"url":"x"}])", "mcp_servers");
  EXPECT_EQ(error_of(R"({"max_tokens":1.5,"messages":[]})").param, "max_tokens");
  EXPECT_EQ(error_of(R"({"max_tokens":-1,"messages":[]})").param, "max_tokens");
  EXPECT_EQ(error_of("[]").http_status, 400);
  EXPECT_EQ(error_of("{").http_status, 400);
  EXPECT_EQ(error_of(std::string(limits::kRequestBytes + 1, ' ')).http_status, 413);
}

TEST(AnthropicRequest, SaysWhichBlockOfWhichMessageIsWrong) {
  EXPECT_THAT(messages_error(R"([{"role":"user","content":[{"type":"text","text":"a"},
                  {"type":"image","source":{}}]}])"),
              HasSubstr("messages[0].content[1] has the type 'image'"));
  EXPECT_THAT(messages_error(R"([{"role":"user","content":[{"type":"tool_result",
                  "tool_use_id":"a","content":[{"type":"image"}]}]}])"),
              HasSubstr("messages[0].content[0] is a tool_result whose content[0] has the type"));
  EXPECT_THAT(messages_error(R"([{"role":"robot","content":"a"}])"), HasSubstr("messages[0].role"));
  EXPECT_THAT(messages_error(R"([{"role":"user"}])"), HasSubstr("messages[0].content is missing"));
  EXPECT_THAT(messages_error(R"([{"role":"user","content":[]}])"),
              HasSubstr("messages[0].content"));
  EXPECT_THAT(messages_error(R"(["hi"])"), HasSubstr("messages[0] must be an object"));
  EXPECT_THAT(messages_error(R"([{"role":"user","content":[{"type":"tool_use","id":"a",
                  "name":"b","input":{}}]}])"),
              HasSubstr("'tool_use'; a user's are"));
  EXPECT_THAT(messages_error(R"([{"role":"assistant","content":[{"type":"tool_use","id":"a",
                  "name":"b","input":"{}"}]}])"),
              HasSubstr("input"));
  EXPECT_THAT(messages_error("[]"), HasSubstr("at least one"));
  EXPECT_THAT(messages_error(R"([{"role":"user","content":"a"},
                  {"role":"assistant","content":"b"}])"),
              HasSubstr("continued"));
  std::string many;
  for (size_t i = 0; i <= limits::kRequestMessages; ++i)
    many += fmt::format(R"({}{{"role":"user","content":"a"}})", i == 0 ? "" : ",");
  EXPECT_THAT(messages_error("[" + many + "]"), HasSubstr("2048"));
}

TEST(AnthropicRequest, UnknownFieldsBecomeWarnings) {
  EXPECT_THAT(with(R"("colour":1)").warnings, ElementsAre("the unknown field 'colour' is ignored"));
  std::string many = R"("a":1)";
  for (size_t i = 0; i < 100; ++i)
    many += fmt::format(R"(,"x{}":1)", i);
  EXPECT_EQ(with(many).warnings.size(), limits::kRequestWarnings + 1);
}

}  // namespace
}  // namespace ingot
