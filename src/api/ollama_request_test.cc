// SPDX-License-Identifier: Apache-2.0
#include "api/ollama_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/limits.h"

namespace ingot {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr OllamaEndpoint kChat = OllamaEndpoint::kChat;
constexpr OllamaEndpoint kGenerate = OllamaEndpoint::kGenerate;

const OpenAiParser& parser() {
  static const OpenAiParser kParser(
      {.sampling = {.temperature = 0.5F, .eos_ids = {7}}, .tokenizer = nullptr, .vocab = 1000});
  return kParser;
}

std::string body(OllamaEndpoint endpoint, std::string_view fields) {
  return fmt::format(
      R"({{"model":"m",{}{}{}}})",
      endpoint == kChat ? R"("messages":[{"role":"user","content":"hi"}])" : R"("prompt":"hi")",
      fields.empty() ? "" : ",", fields);
}

OllamaRequest parsed(OllamaEndpoint endpoint, const std::string& text, bool has_template = true) {
  auto result = parse_ollama_text(parser(), endpoint, text, has_template);
  if (const auto* error = std::get_if<OpenAiError>(&result)) {
    ADD_FAILURE() << text << ": " << error->message;
    return {.chat = {.requests = {TextRequest{}}}};
  }
  return std::get<OllamaRequest>(std::move(result));
}

TextRequest with(std::string_view fields, OllamaEndpoint endpoint = kChat) {
  return parsed(endpoint, body(endpoint, fields)).chat.requests.at(0);
}

TextRequest with_options(std::string_view options) {
  return with(fmt::format(R"("options":{{{}}})", options));
}

OpenAiError error_of(OllamaEndpoint endpoint, const std::string& text) {
  auto result = parse_ollama_text(parser(), endpoint, text, true);
  if (const auto* error = std::get_if<OpenAiError>(&result)) return *error;
  ADD_FAILURE() << text << " was taken";
  return {};
}

void expect_refused(std::string_view fields, std::string_view param,
                    OllamaEndpoint endpoint = kChat) {
  const OpenAiError error = error_of(endpoint, body(endpoint, fields));
  EXPECT_EQ(error.param, param) << error.message;
  EXPECT_EQ(error.http_status, 400);
  EXPECT_TRUE(error.message.starts_with(param)) << error.message;
}

TEST(OllamaRequest, AChatStreamsUnlessToldNotTo) {
  EXPECT_TRUE(parsed(kChat, body(kChat, "")).chat.streams);
  EXPECT_FALSE(parsed(kChat, body(kChat, R"("stream":false)")).chat.streams);
  EXPECT_TRUE(parsed(kGenerate, body(kGenerate, R"("stream":null)")).chat.streams);
}

TEST(OllamaRequest, TheTagLatestSaysNothing) {
  const OllamaRequest request =
      parsed(kChat, R"({"model":"m:latest","messages":[{"role":"user","content":"a"}]})");
  EXPECT_EQ(request.model, "m:latest");
  EXPECT_EQ(request.chat.model, "m");
  EXPECT_EQ(ollama_name("m"), "m:latest");
  EXPECT_EQ(ollama_name("m:7b"), "m:7b");
  EXPECT_EQ(served_name("m:7b"), "m:7b");
}

TEST(OllamaRequest, OptionsAreSamplingParameters) {
  const TextRequest text = with_options(
      R"("temperature":0.25,"top_k":3,"top_p":0.5,"min_p":0.125,"typical_p":0.75,
         "repeat_penalty":1.5,"presence_penalty":1,"frequency_penalty":2,"seed":11,
         "num_predict":9,"stop":["a","b"],"num_gpu":1,"use_mmap":true)");
  EXPECT_EQ(text.sampling.temperature, 0.25F);
  EXPECT_EQ(text.sampling.top_k, 3);
  EXPECT_EQ(text.sampling.top_p, 0.5F);
  EXPECT_EQ(text.sampling.min_p, 0.125F);
  EXPECT_EQ(text.sampling.typical_p, 0.75F);
  EXPECT_EQ(text.sampling.repetition_penalty, 1.5F);
  EXPECT_EQ(text.sampling.presence_penalty, 1);
  EXPECT_EQ(text.sampling.frequency_penalty, 2);
  EXPECT_EQ(text.sampling.seed, 11U);
  EXPECT_EQ(text.max_tokens, 9);
  EXPECT_THAT(text.stop, ElementsAre("a", "b"));
  EXPECT_THAT(text.sampling.eos_ids, ElementsAre(7));
}

TEST(OllamaRequest, PenaltiesLookAtAWindowOverPromptAndAnswer) {
  const TextRequest usual = with_options(R"("repeat_penalty":1.5)");
  EXPECT_EQ(usual.sampling.repeat_last_n, 64);
  EXPECT_TRUE(usual.sampling.penalize_prompt);
  EXPECT_EQ(with_options(R"("repeat_penalty":1.5,"repeat_last_n":5)").sampling.repeat_last_n, 5);
}

TEST(OllamaRequest, AnswersAreUnlimitedByDefault) {
  EXPECT_EQ(with("").max_tokens, -1);
  EXPECT_EQ(with("", kGenerate).max_tokens, -1);
  EXPECT_EQ(with(R"("raw":true)", kGenerate).max_tokens, -1);
  EXPECT_EQ(with_options(R"("num_predict":-2)").max_tokens, -1);
}

TEST(OllamaRequest, GenerateIsATurnOrARawText) {
  EXPECT_EQ(with(R"("system":"Be brief.")", kGenerate).messages,
            R"([{"role":"system","content":"Be brief."},{"role":"user","content":"hi"}])");
  const TextRequest raw = with(R"("raw":true)", kGenerate);
  EXPECT_EQ(raw.prompt, "hi");
  EXPECT_EQ(raw.messages, "");
  const OllamaRequest plain = parsed(kGenerate, body(kGenerate, R"("system":"S")"), false);
  EXPECT_EQ(plain.chat.requests.at(0).prompt, "S\n\nhi");
  expect_refused(R"("raw":true,"system":"S")", "system", kGenerate);
}

TEST(OllamaRequest, MessagesBecomeWhatTemplatesRead) {
  const OllamaRequest request =
      parsed(kChat, R"({"model":"m","messages":[{"role":"user","content":"a","images":[]},
          {"role":"assistant","thinking":"hm","tool_calls":[{"function":{"index":0,"name":"get",
            "arguments":{"city":"Rome"}}}]},
          {"role":"tool","content":"20 C","tool_name":"get"}]})");
  EXPECT_EQ(request.chat.requests.at(0).messages,
            R"([{"role":"user","content":"a"},{"role":"assistant","content":"",)"
            R"("reasoning_content":"hm","tool_calls":[{"type":"function","function":)"
            R"({"name":"get","arguments":{"city":"Rome"}}}]},)"
            R"({"role":"tool","content":"20 C","name":"get"}])");
}

TEST(OllamaRequest, ThinkingIsTheTemplates) {
  EXPECT_EQ(with(R"("think":false)").template_kwargs, R"({"enable_thinking":false})");
  EXPECT_EQ(with(R"("think":"low")").template_kwargs,
            R"({"enable_thinking":true,"reasoning_effort":"low"})");
  EXPECT_EQ(with(R"("raw":true,"think":"low")", kGenerate).template_kwargs, "");
  expect_refused(R"("think":"hard")", "think");
}

TEST(OllamaRequest, LogprobsAreToldWhenAsked) {
  EXPECT_EQ(with("").sampling.logprobs, std::nullopt);
  EXPECT_EQ(with(R"("logprobs":true)").sampling.logprobs, 0);
  EXPECT_EQ(with(R"("logprobs":true,"top_logprobs":3)").sampling.logprobs, 3);
  EXPECT_EQ(with(R"("raw":true,"logprobs":true,"top_logprobs":3)", kGenerate).sampling.logprobs, 3);
  expect_refused(R"("logprobs":true,"top_logprobs":21)", "top_logprobs");
}

TEST(OllamaRequest, AnEmptyRequestOnlyLoadsTheModel) {
  const OllamaRequest load = parsed(kChat, R"({"model":"m","messages":[]})");
  EXPECT_TRUE(load.is_load);
  EXPECT_FALSE(load.is_unload);
  EXPECT_THAT(load.chat.requests, IsEmpty());
  const OllamaRequest unload = parsed(kGenerate, R"({"model":"m","keep_alive":0})");
  EXPECT_TRUE(unload.is_load);
  EXPECT_TRUE(unload.is_unload);
  EXPECT_FALSE(parsed(kChat, body(kChat, R"("keep_alive":0)")).is_load);
}

TEST(OllamaRequest, WhatIsEmptyIsNotRefused) {
  with(R"("format":"","options":{"stop":[]},"tools":[],"keep_alive":"5m")");
  with(R"("suffix":"","template":"","images":[],"context":[],"format":"")", kGenerate);
}

TEST(OllamaRequest, RefusesByName) {
  expect_refused(R"("format":"json")", "format");
  expect_refused(R"("format":{"type":"object"})", "format");
  expect_refused(R"("suffix":"x")", "suffix", kGenerate);
  expect_refused(R"("template":"x")", "template", kGenerate);
  expect_refused(R"("images":["aGk="])", "images", kGenerate);
  expect_refused(R"("context":[1,2])", "context", kGenerate);
  expect_refused(R"("options":{"temperature":-1})", "options.temperature");
  expect_refused(R"("options":{"repeat_penalty":"much"})", "options.repeat_penalty");
  expect_refused(R"("options":{"stop":[""]})", "options.stop");
  expect_refused(R"("options":{"num_predict":"all"})", "options");
  expect_refused(R"("options":[])", "options");
  expect_refused(R"("stream":"yes")", "stream");
  expect_refused(R"("keep_alive":[])", "keep_alive");
  expect_refused(R"("tools":[{"type":"function"}])", "tools");
  EXPECT_EQ(error_of(kChat, R"({"messages":[]})").param, "model");
  EXPECT_EQ(error_of(kChat, R"({"model":"m","messages":{}})").param, "messages");
  EXPECT_THAT(error_of(kChat, R"({"model":"m","messages":[{"role":"x"}]})").message,
              HasSubstr("messages[0].role"));
  EXPECT_THAT(
      error_of(kChat, R"({"model":"m","messages":[{"role":"user","images":["a"]}]})").message,
      HasSubstr("messages[0].images"));
  EXPECT_THAT(error_of(kChat, R"({"model":"m","messages":[{"role":"assistant","tool_calls":
                  [{"function":{"name":"a","arguments":"{}"}}]}]})")
                  .message,
              HasSubstr("messages[0].tool_calls[0].function.arguments must be an object"));
}

TEST(OllamaRequest, WhatIsIgnoredIsWarnedOf) {
  EXPECT_THAT(
      parsed(kChat, body(kChat, R"("colour":1,"options":{"size":2,"num_ctx":4096})")).chat.warnings,
      ElementsAre("the unknown field 'colour' is ignored",
                  "the unknown field 'options.size' is ignored",
                  "options.num_ctx is ignored: the server sets the context"));
}

}  // namespace
}  // namespace ingot
