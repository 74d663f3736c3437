// SPDX-License-Identifier: Apache-2.0
#include "api/openai_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/limits.h"

namespace ingot {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::SizeIs;
using Ids = std::vector<TokenId>;

std::shared_ptr<const Tokenizer> tokenizer() {
  return Tokenizer::from_tokenizer_json(
             R"({"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2,"\u0120":3,"\u0120a":4,
                 "\u010a":5},"merges":["a b","\u0120 a"]},
                 "pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"use_regex":false},
                 "decoder":{"type":"ByteLevel"}})",
             "tokenizer.json")
      .value();
}

const OpenAiParser& parser() {
  static const OpenAiParser kParser(
      {.sampling = {.temperature = 0.5F, .eos_ids = {7}}, .tokenizer = tokenizer(), .vocab = 1000});
  return kParser;
}

constexpr OpenAiEndpoint kChat = OpenAiEndpoint::kChat;
constexpr OpenAiEndpoint kCompletions = OpenAiEndpoint::kCompletions;

// A body with the least a request needs, and `fields` after it.
std::string body(OpenAiEndpoint endpoint, std::string_view fields) {
  return fmt::format(
      R"({{{}{}{}}})",
      endpoint == kChat ? R"("messages":[{"role":"user","content":"hi"}])" : R"("prompt":"hi")",
      fields.empty() ? "" : ",", fields);
}

OpenAiRequest parsed(OpenAiEndpoint endpoint, const std::string& text) {
  auto result = parser().parse_text(endpoint, text);
  if (const auto* error = std::get_if<OpenAiError>(&result)) {
    ADD_FAILURE() << text << ": " << error->message;
    return {.requests = {TextRequest{}}};
  }
  return std::get<OpenAiRequest>(std::move(result));
}

OpenAiRequest with(std::string_view fields, OpenAiEndpoint endpoint = kChat) {
  return parsed(endpoint, body(endpoint, fields));
}

TextRequest text_with(std::string_view fields, OpenAiEndpoint endpoint = kChat) {
  return with(fields, endpoint).requests.at(0);
}

OpenAiError error_of(OpenAiEndpoint endpoint, const std::string& text) {
  auto result = parser().parse_text(endpoint, text);
  if (const auto* error = std::get_if<OpenAiError>(&result)) return *error;
  ADD_FAILURE() << text << " was taken";
  return {};
}

void expect_refused(std::string_view fields, std::string_view param,
                    OpenAiEndpoint endpoint = kChat) {
  const OpenAiError error = error_of(endpoint, body(endpoint, fields));
  EXPECT_EQ(error.param, param) << fields << ": " << error.message;
  EXPECT_EQ(error.http_status, 400) << fields;
  EXPECT_EQ(error.type, "invalid_request_error") << fields;
  EXPECT_THAT(error.message, HasSubstr(std::string(param))) << fields;
}

TEST(OpenAiRequest, TakesTheModelsDefaultsForWhatIsLeftOpen) {
  const TextRequest chat = text_with("");
  EXPECT_EQ(chat.sampling.temperature, 0.5F);
  EXPECT_EQ(chat.sampling.eos_ids, Ids{7});
  EXPECT_EQ(chat.max_tokens, -1);
  EXPECT_EQ(chat.n, 1);
  EXPECT_EQ(chat.messages, R"([{"role":"user","content":"hi"}])");
  EXPECT_EQ(text_with("", kCompletions).max_tokens, 16);
  EXPECT_EQ(text_with("", kCompletions).prompt, "hi");
  EXPECT_EQ(text_with(R"("temperature":null,"n":null,"stop":null,"tools":null)").n, 1);
}

TEST(OpenAiRequest, HonoursEverySamplingParameter) {
  const SamplingParams sampling = text_with(R"("temperature":1.5,"top_p":0.5,"top_k":7,"min_p":0.25,
      "typical_p":0.75,"top_n_sigma":2,"xtc_probability":0.5,"xtc_threshold":0.25,
      "dynatemp_range":0.5,"dynatemp_exponent":2,"presence_penalty":1,"frequency_penalty":-1,
      "repetition_penalty":1.25,"repeat_last_n":9,"penalize_prompt":true,"dry_multiplier":0.5,
      "dry_base":2,"dry_allowed_length":3,"dry_penalty_last_n":-1,"mirostat":2,"mirostat_tau":4,
      "mirostat_eta":0.5,"min_tokens":2,"ignore_eos":true,"samplers":["top_k","temperature"])")
                                      .sampling;
  EXPECT_EQ(sampling.temperature, 1.5F);
  EXPECT_EQ(sampling.top_p, 0.5F);
  EXPECT_EQ(sampling.top_k, 7);
  EXPECT_EQ(sampling.min_p, 0.25F);
  EXPECT_EQ(sampling.typical_p, 0.75F);
  EXPECT_EQ(sampling.top_n_sigma, 2);
  EXPECT_EQ(sampling.xtc_probability, 0.5F);
  EXPECT_EQ(sampling.xtc_threshold, 0.25F);
  EXPECT_EQ(sampling.dynatemp_range, 0.5F);
  EXPECT_EQ(sampling.dynatemp_exponent, 2);
  EXPECT_EQ(sampling.presence_penalty, 1);
  EXPECT_EQ(sampling.frequency_penalty, -1);
  EXPECT_EQ(sampling.repetition_penalty, 1.25F);
  EXPECT_EQ(sampling.repeat_last_n, 9);
  EXPECT_TRUE(sampling.penalize_prompt);
  EXPECT_EQ(sampling.dry_multiplier, 0.5F);
  EXPECT_EQ(sampling.dry_base, 2);
  EXPECT_EQ(sampling.dry_allowed_length, 3);
  EXPECT_EQ(sampling.dry_penalty_last_n, -1);
  EXPECT_THAT(sampling.dry_breakers, ElementsAre(Ids{5}));  // the line's end, by default
  EXPECT_EQ(sampling.mirostat, 2);
  EXPECT_EQ(sampling.mirostat_tau, 4);
  EXPECT_EQ(sampling.mirostat_eta, 0.5F);
  EXPECT_EQ(sampling.min_tokens, 2);
  EXPECT_TRUE(sampling.ignore_eos);
  EXPECT_THAT(sampling.stages, ElementsAre(SamplerStage::kTopK, SamplerStage::kTemperature));
}

TEST(OpenAiRequest, PenaltiesLookAtTheWholeAnswerUnlessToldOtherwise) {
  const SamplingParams sampling = text_with(R"("presence_penalty":1)").sampling;
  EXPECT_EQ(sampling.repeat_last_n, -1);
  EXPECT_FALSE(sampling.penalize_prompt);
  EXPECT_EQ(text_with("").sampling.repeat_last_n, SamplingParams{}.repeat_last_n);
}

TEST(OpenAiRequest, HonoursWordsIdsAndBiases) {
  const SamplingParams sampling =
      text_with(R"("logit_bias":{"3":-100,"999":2.5},"bad_words":["b"],"allowed_token_ids":[1,2],
                   "stop_token_ids":[5],"dry_multiplier":1,"dry_sequence_breakers":["ab"])")
          .sampling;
  EXPECT_THAT(sampling.logit_bias, ElementsAre(Pair(3, -100), Pair(999, 2.5F)));
  EXPECT_THAT(sampling.bad_words, ElementsAre(Ids{1}));
  EXPECT_EQ(sampling.allowed_token_ids, (Ids{1, 2}));
  EXPECT_EQ(sampling.stop_token_ids, Ids{5});
  EXPECT_THAT(sampling.dry_breakers, ElementsAre(Ids{0, 1}, Ids{2}, Ids{4, 1}));
}

TEST(OpenAiRequest, HonoursLengthsStopsAndScheduling) {
  const TextRequest text = text_with(R"("max_tokens":5,"max_completion_tokens":7,"n":2,"best_of":3,
      "stop":["x","yz"],"include_stop_str_in_output":true,"skip_special_tokens":false,
      "priority":-3,"cache_salt":"me")");
  EXPECT_EQ(text.max_tokens, 7);
  EXPECT_EQ(text.n, 2);
  EXPECT_EQ(text.best_of, 3);
  EXPECT_THAT(text.stop, ElementsAre("x", "yz"));
  EXPECT_TRUE(text.include_stop);
  EXPECT_FALSE(text.skip_special);
  EXPECT_EQ(text.priority, -3);
  EXPECT_EQ(text.cache_salt, "me");
  EXPECT_THAT(text_with(R"("stop":"x")").stop, ElementsAre("x"));
  EXPECT_EQ(text_with(R"("max_tokens":3.0)").max_tokens, 3);
  EXPECT_EQ(text_with(R"("max_tokens":0)", kCompletions).max_tokens, 0);
}

TEST(OpenAiRequest, BeamSearchIsAsWideAsItsAnswersUnlessToldOtherwise) {
  const TextRequest text =
      text_with(R"("use_beam_search":true,"n":3,"length_penalty":2,"early_stopping":true)");
  ASSERT_TRUE(text.beam.has_value());
  EXPECT_EQ(text.beam->width, 3);
  EXPECT_EQ(text.beam->length_penalty, 2);
  EXPECT_TRUE(text.beam->early_stopping);
  EXPECT_EQ(text_with(R"("use_beam_search":true,"beam_width":5)").beam->width, 5);
  EXPECT_FALSE(text_with(R"("use_beam_search":false)").beam.has_value());
  expect_refused(R"("use_beam_search":true,"beam_width":1,"n":2)", "beam_width");
}

TEST(OpenAiRequest, LogprobsOfChatsAndCompletionsHaveTheirOwnForms) {
  EXPECT_EQ(text_with(R"("logprobs":true)").sampling.logprobs, 0);
  EXPECT_EQ(text_with(R"("logprobs":true,"top_logprobs":20)").sampling.logprobs, 20);
  EXPECT_FALSE(text_with(R"("logprobs":false)").sampling.logprobs.has_value());
  EXPECT_EQ(text_with(R"("logprobs":3)", kCompletions).sampling.logprobs, 3);
  EXPECT_EQ(text_with(R"("prompt_logprobs":2)").sampling.prompt_logprobs, 2);
  const OpenAiRequest echo = with(R"("logprobs":1,"echo":true)", kCompletions);
  EXPECT_EQ(echo.requests[0].sampling.prompt_logprobs, 1);
  EXPECT_TRUE(echo.echoes);
  EXPECT_TRUE(echo.hides_prompt_logprobs);
  EXPECT_FALSE(echo.requests[0].sampling.ignore_eos);
  const TextRequest scored = text_with(R"("logprobs":1,"echo":true,"max_tokens":1)", kCompletions);
  EXPECT_TRUE(scored.sampling.ignore_eos);  // one token is told, whichever it is
  expect_refused(R"("top_logprobs":2)", "top_logprobs");
  expect_refused(R"("logprobs":1)", "logprobs");
}

TEST(OpenAiRequest, SeedsAreGivenOrDrawn) {
  EXPECT_EQ(with(R"("seed":-5)").seed, -5);
  EXPECT_EQ(text_with(R"("seed":-5)").sampling.seed, static_cast<uint64_t>(int64_t{-5}));
  const OpenAiRequest drawn = with("");
  EXPECT_EQ(static_cast<uint64_t>(drawn.seed), drawn.requests[0].sampling.seed);
  EXPECT_NE(drawn.seed, with("").seed);
}

TEST(OpenAiRequest, PromptsComeInFourForms) {
  const auto prompts = [](std::string_view value) {
    return parsed(kCompletions, fmt::format(R"({{"prompt":{}}})", value)).requests;
  };
  EXPECT_EQ(prompts(R"("x")").at(0).prompt, "x");
  EXPECT_THAT(prompts(R"(["x","y"])"), SizeIs(2));
  EXPECT_EQ(prompts(R"(["x","y"])").at(1).prompt, "y");
  EXPECT_EQ(prompts("[1,2,3]").at(0).prompt_ids, (Ids{1, 2, 3}));
  EXPECT_EQ(prompts("[[1],[2,3]]").at(1).prompt_ids, (Ids{2, 3}));
  for (const char* bad : {"[]", "[[]]", "7", "{}", "[1,\"x\"]", "[\"x\",1]", "[1000]", "[-1]",
                          "[1.5]", "[[1],\"x\"]", "null", "true"}) {
    const OpenAiError error = error_of(kCompletions, fmt::format(R"({{"prompt":{}}})", bad));
    EXPECT_EQ(error.param, "prompt") << bad;
  }
  std::string many = "\"x\"";
  for (size_t i = 1; i < limits::kRequestPrompts; ++i)
    many += ",\"x\"";
  EXPECT_THAT(prompts("[" + many + "]"), SizeIs(limits::kRequestPrompts));
  EXPECT_EQ(error_of(kCompletions, R"({"prompt":[)" + many + R"(,"x"]})").param, "prompt");
  EXPECT_EQ(error_of(kCompletions, "{}").param, "prompt");
}

std::string messages_of(const std::string& messages) {
  return parsed(kChat, R"({"messages":)" + messages + "}").requests.at(0).messages;
}

TEST(OpenAiRequest, MessagesBecomeWhatTemplatesExpect) {
  EXPECT_EQ(messages_of(R"([{"role":"user","content":[{"type":"text","text":"a"},
                                                      {"type":"text","text":"b"}]}])"),
            R"([{"role":"user","content":"a\nb"}])");
  EXPECT_EQ(messages_of(R"([{"role":"assistant","content":null,"tool_calls":[{"id":"1",
      "type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]},
      {"role":"tool","tool_call_id":"1","content":"2"}])"),
            R"([{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function",)"
            R"("function":{"name":"f","arguments":{"x":1}}}]},)"
            R"({"role":"tool","tool_call_id":"1","content":"2"}])");
}

TEST(OpenAiRequest, RefusesBrokenMessages) {
  for (const char* bad :
       {"[]", "{}", "\"hi\"", "[1]", R"([{"content":"x"}])", R"([{"role":"king","content":"x"}])",
        R"([{"role":"user"}])", R"([{"role":"user","content":7}])",
        R"([{"role":"user","content":[]}])", R"([{"role":"user","content":["x"]}])",
        R"([{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}])",
        R"([{"role":"user","content":[{"type":"text","text":1}]}])",
        R"([{"role":"user","content":"x","name":1}])",
        R"([{"role":"assistant","tool_calls":[{"function":{}}]}])",
        R"([{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{"}}]}])"}) {
    const OpenAiError error = error_of(kChat, fmt::format(R"({{"messages":{}}})", bad));
    EXPECT_EQ(error.param, "messages") << bad << ": " << error.message;
  }
  std::string many = R"({"role":"user","content":"x"})";
  const std::string one = "," + many;
  for (size_t i = 0; i < limits::kRequestMessages; ++i)
    many += one;
  EXPECT_EQ(error_of(kChat, R"({"messages":[)" + many + "]}").param, "messages");
  EXPECT_EQ(error_of(kChat, "{}").param, "messages");
}

TEST(OpenAiRequest, ToolsReachTheTemplateWithinTheirLimits) {
  const std::string tool = R"({"type":"function","function":{"name":"f"}})";
  EXPECT_EQ(text_with(R"("tools":[)" + tool + "]").tools, "[" + tool + "]");
  EXPECT_EQ(text_with(R"("tools":[)" + tool + R"(],"tool_choice":"none")").tools, "");
  EXPECT_EQ(text_with(R"("tools":[)" + tool + R"(],"tool_choice":"auto")").tools, "[" + tool + "]");
  expect_refused(R"("tool_choice":"required")", "tool_choice");
  expect_refused(R"("tool_choice":{"type":"function","function":{"name":"f"}})", "tool_choice");
  expect_refused(R"("tools":[{"type":"function"}])", "tools");
  expect_refused(R"("tools":{})", "tools");
  const std::string large(limits::kRequestToolBytes, 'x');
  expect_refused(
      fmt::format(R"("tools":[{{"type":"function","function":{{"name":"{}"}}}}])", large), "tools");
  std::string many = tool;
  for (size_t i = 0; i < limits::kRequestTools; ++i)
    many += "," + tool;
  expect_refused(R"("tools":[)" + many + "]", "tools");
  EXPECT_EQ(text_with(R"("chat_template_kwargs":{"a":1},"reasoning_effort":"low")").template_kwargs,
            R"({"a":1,"reasoning_effort":"low"})");
  EXPECT_EQ(text_with(R"("reasoning_effort":"low")").template_kwargs,
            R"({"reasoning_effort":"low"})");
  expect_refused(R"("chat_template_kwargs":[])", "chat_template_kwargs");
  expect_refused(R"("reasoning_effort":"immense")", "reasoning_effort");
}

// The same model, which writes calls as Mistral's do, and thinks.
TEST(OpenAiRequest, CallsAndThoughtsAreLookedForWhereTheyCanBe) {
  const OpenAiParser reader({.sampling = {},
                             .tokenizer = tokenizer(),
                             .vocab = 1000,
                             .tool_format = ToolFormat::kHermes,
                             .reasoning = ReasoningMarks{"<think>", "</think>"}});
  const auto format = [&](std::string_view fields) {
    auto result = reader.parse_text(kChat, body(kChat, fields));
    return std::get<OpenAiRequest>(std::move(result)).format;
  };
  const std::string tools = R"("tools":[{"type":"function","function":{"name":"f"}}])";
  EXPECT_EQ(format("").tools, ToolFormat::kNone);
  EXPECT_TRUE(format("").reasoning.has_value());
  EXPECT_EQ(format(tools).tools, ToolFormat::kHermes);
  EXPECT_THAT(format(tools).tool_names, ElementsAre("f"));
  EXPECT_FALSE(format(tools).one_call);
  EXPECT_TRUE(format(tools + R"(,"parallel_tool_calls":false)").one_call);
  EXPECT_EQ(format(tools + R"(,"tool_choice":"none")").tools, ToolFormat::kNone);
  EXPECT_FALSE(format("").hides_reasoning);
  EXPECT_TRUE(format(R"("include_reasoning":false)").hides_reasoning);
  EXPECT_THAT(with(tools).warnings, ElementsAre(HasSubstr("tool calls")));
}

TEST(OpenAiRequest, NumbersOutOfPlaceAreRefusedByName) {
  for (const OpenAiEndpoint endpoint : {kChat, kCompletions}) {
    for (const char* field : {"n", "best_of", "max_tokens", "max_completion_tokens", "min_tokens",
                              "top_k", "mirostat", "beam_width"}) {
      for (const char* value :
           {"-2", "2147483648", "9223372036854775808", "1e308", "1.5", "\"1\"", "[]", "{}", "true"})
        expect_refused(fmt::format(R"("{}":{})", field, value), field, endpoint);
    }
    for (const char* field : {"temperature", "top_p", "min_p", "repetition_penalty"}) {
      for (const char* value : {"-1", "1e308", "\"1\"", "[]", "false"})
        expect_refused(fmt::format(R"("{}":{})", field, value), field, endpoint);
    }
    for (const char* field : {"ignore_eos", "skip_special_tokens", "stream", "use_beam_search",
                              "include_stop_str_in_output", "return_token_ids"}) {
      for (const char* value : {"1", "\"true\"", "[]"})
        expect_refused(fmt::format(R"("{}":{})", field, value), field, endpoint);
    }
  }
  expect_refused(R"("n":0)", "n");
  expect_refused(R"("max_tokens":0)", "max_tokens");
  expect_refused(R"("temperature":NaN)", "temperature");
  expect_refused(R"("n":3,"best_of":2)", "best_of");
  expect_refused(R"("max_tokens":3,"min_tokens":4)", "min_tokens");
}

TEST(OpenAiRequest, EveryLimitHolds) {
  const auto repeat = [](const std::string& entry, size_t count) {
    std::string list = entry;
    for (size_t i = 1; i < count; ++i)
      list += "," + entry;
    return list;
  };
  with(fmt::format(R"("n":{})", limits::kRequestAnswers));
  expect_refused(fmt::format(R"("n":{})", limits::kRequestAnswers + 1), "n");
  with(fmt::format(R"("stop":[{}])", repeat("\"x\"", limits::kRequestStrings)));
  expect_refused(fmt::format(R"("stop":[{}])", repeat("\"x\"", limits::kRequestStrings + 1)),
                 "stop");
  with(fmt::format(R"("stop":"{}")", std::string(limits::kRequestStringBytes, 'x')));
  expect_refused(fmt::format(R"("stop":"{}")", std::string(limits::kRequestStringBytes + 1, 'x')),
                 "stop");
  expect_refused(R"("stop":[""])", "stop");
  std::string biases = R"("0":1)";
  for (size_t i = 1; i <= limits::kRequestBiases; ++i)
    biases += fmt::format(R"(,"{}":1)", i);
  expect_refused(fmt::format(R"("logit_bias":{{{}}})", biases), "logit_bias");
  for (const char* bad : {R"({"1000":1})", R"({"-1":1})", R"({"x":1})", R"({"1 ":1})",
                          R"({"1":101})", R"({"1":"x"})", "[]"})
    expect_refused(fmt::format(R"("logit_bias":{})", bad), "logit_bias");
  expect_refused(R"("logprobs":true,"top_logprobs":21)", "top_logprobs");
  expect_refused(R"("logprobs":21)", "logprobs", kCompletions);
  expect_refused(R"("prompt_logprobs":21)", "prompt_logprobs");
  expect_refused(R"("allowed_token_ids":[1000])", "allowed_token_ids");
  expect_refused(R"("allowed_token_ids":[])", "allowed_token_ids");
  expect_refused(R"("stop_token_ids":[-1])", "stop_token_ids");
  expect_refused(R"("cache_salt":"")", "cache_salt");
  expect_refused(fmt::format(R"("user":"{}")", std::string(limits::kRequestNameBytes + 1, 'x')),
                 "user");
  expect_refused(R"("metadata":{"a":1})", "metadata");
  expect_refused(R"("samplers":["nothing"])", "samplers");
  expect_refused(R"("bad_words":"x")", "bad_words");
}

TEST(OpenAiRequest, WhatCannotBeHonouredIsRefusedUnlessHarmless) {
  for (const char* field :
       {"audio", "web_search_options", "structured_outputs", "guided_json", "grammar",
        "chat_template", "documents", "kv_transfer_params", "prediction"}) {
    expect_refused(fmt::format(R"("{}":"x")", field), field);
    with(fmt::format(R"("{}":null)", field));
  }
  expect_refused(R"("response_format":{"type":"json_object"})", "response_format");
  expect_refused(R"("response_format":"text")", "response_format");
  with(R"("response_format":{"type":"text"},"modalities":["text"],"function_call":"none",
          "echo":false,"add_generation_prompt":true,"verbosity":"medium","documents":[])");
  expect_refused(R"("modalities":["text","audio"])", "modalities");
  expect_refused(R"("echo":true)", "echo");
  expect_refused(R"("suffix":"x")", "suffix", kCompletions);
  with(R"("suffix":"")", kCompletions);
  EXPECT_EQ(error_of(kChat, body(kChat, R"("audio":{})")).code, "unsupported_value");
}

TEST(OpenAiRequest, SaysHowThePromptIsMade) {
  EXPECT_TRUE(text_with("").add_generation_prompt);
  EXPECT_FALSE(text_with("").continue_final_message);
  EXPECT_EQ(text_with("").add_special, std::nullopt);
  EXPECT_FALSE(text_with(R"("add_generation_prompt":false)").add_generation_prompt);
  EXPECT_TRUE(text_with(R"("continue_final_message":true)").continue_final_message);
  expect_refused(R"("continue_final_message":true,"add_generation_prompt":true)",
                 "continue_final_message");
  EXPECT_EQ(text_with(R"("add_special_tokens":false)", kCompletions).add_special, false);
  EXPECT_EQ(with(R"("truncate_prompt_tokens":-1)").truncate_prompt_tokens, -1);
  EXPECT_TRUE(with(R"("truncate_prompt_tokens":5,"truncation_side":"right")").truncates_right);
  expect_refused(R"("truncate_prompt_tokens":0)", "truncate_prompt_tokens");
  expect_refused(R"("truncate_prompt_tokens":-2)", "truncate_prompt_tokens");
  expect_refused(R"("truncation_side":"middle")", "truncation_side");
}

TEST(OpenAiRequest, QuietFieldsAreTakenAndUnknownOnesBecomeWarnings) {
  const OpenAiRequest quiet = with(R"("model":"m","user":"u","metadata":{"a":"b"},"store":true,
      "stream":true,"stream_options":{"include_usage":true},"service_tier":"auto",
      "return_token_ids":true,"return_tokens_as_token_ids":true)");
  EXPECT_THAT(quiet.warnings, SizeIs(0));
  EXPECT_EQ(quiet.model, "m");
  EXPECT_TRUE(quiet.streams);
  EXPECT_TRUE(quiet.includes_usage);
  EXPECT_TRUE(quiet.returns_token_ids);
  EXPECT_TRUE(quiet.tokens_as_ids);
  EXPECT_THAT(with(R"("colour":"red","prompt":"x")").warnings,
              ElementsAre(HasSubstr("'colour'"), HasSubstr("'prompt'")));
  std::string many = R"("x":0)";
  for (int i = 0; i < 1000; ++i)
    many += fmt::format(R"(,"x{}":0)", i);
  EXPECT_THAT(with(many).warnings, SizeIs(limits::kRequestWarnings + 1));
}

TEST(OpenAiRequest, BodiesThatAreNoObjectsOrTooLargeAreRefused) {
  for (const char* bad : {"", "[]", "7", "{", R"({"messages":[)", R"({"a":1,"a":2})"})
    EXPECT_EQ(error_of(kChat, bad).http_status, 400) << bad;
  EXPECT_EQ(error_of(kChat, std::string(limits::kRequestBytes + 1, ' ')).http_status, 413);
  EXPECT_EQ(error_of(kChat, std::string(100, '[')).http_status, 400);
}

}  // namespace
}  // namespace ingot
