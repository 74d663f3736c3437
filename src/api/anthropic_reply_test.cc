// SPDX-License-Identifier: Apache-2.0
#include "api/anthropic_reply.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "api/writer_test_events.h"

namespace ingot {
namespace {

OpenAiRequest request(bool streams, int64_t max_tokens = 10) {
  OpenAiRequest request{.requests = {TextRequest{}}, .streams = streams};
  request.requests[0].max_tokens = max_tokens;
  return request;
}

std::unique_ptr<AnswerWriter> writer(const OpenAiRequest& request,
                                     std::unique_ptr<AnswerParts> parts = nullptr) {
  return anthropic_writer(request, {.id = "msg_1", .model = "m"}, std::move(parts));
}

std::string answered(const OpenAiRequest& request, const std::vector<TextEvent>& events,
                     bool has_calls = false) {
  const auto out = writer(request, has_calls ? std::make_unique<BracketParts>() : nullptr);
  return told(*out, events);
}

TEST(AnthropicReply, AWholeMessageHasTheShapeThatClientsRead) {
  EXPECT_EQ(answered(request(false), {prompt_event(7, 3), token_event("Hel"), token_event("lo"),
                                      finish_event(FinishReason::kStop)}),
            R"({"id":"msg_1","type":"message","role":"assistant","model":"m","content":)"
            R"([{"type":"text","text":"Hello"}],"stop_reason":"end_turn","stop_sequence":null,)"
            R"("usage":{"input_tokens":4,"cache_creation_input_tokens":0,)"
            R"("cache_read_input_tokens":3,"output_tokens":2}})");
}

TEST(AnthropicReply, AStreamIsTheSequenceOfEventsThatClientsExpect) {
  const std::string out =
      answered(request(true), {prompt_event(7, 3), token_event("Hel"), token_event(""),
                               token_event("\"lo\""), finish_event(FinishReason::kStop, "!")});
  EXPECT_EQ(
      out,
      "event: message_start\n"
      R"(data: {"type":"message_start","message":{"id":"msg_1","type":"message",)"
      R"("role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,)"
      R"("usage":{"input_tokens":4,"cache_creation_input_tokens":0,"cache_read_input_tokens":3,)"
      R"("output_tokens":0}}})"
      "\n\n"
      "event: content_block_start\n"
      R"(data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}})"
      "\n\n"
      "event: ping\ndata: {\"type\":\"ping\"}\n\n"
      "event: content_block_delta\n"
      R"(data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hel"}})"
      "\n\n"
      "event: content_block_delta\n"
      R"(data: {"type":"content_block_delta","index":0,)"
      R"("delta":{"type":"text_delta","text":"\"lo\""}})"
      "\n\n"
      "event: content_block_delta\n"
      R"(data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"!"}})"
      "\n\n"
      "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
      "event: message_delta\n"
      R"(data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},)"
      R"("usage":{"input_tokens":4,"cache_creation_input_tokens":0,"cache_read_input_tokens":3,)"
      R"("output_tokens":3}})"
      "\n\n"
      "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n");
}

Json whole(const std::vector<TextEvent>& events, int64_t max_tokens = 10, bool has_calls = false) {
  return parse_json(answered(request(false, max_tokens), events, has_calls), "reply").value();
}

TEST(AnthropicReply, SaysWhyTheAnswerEnded) {
  TextEvent stopped = finish_event(FinishReason::kStop);
  stopped.stop = "END";
  const Json by_string = whole({prompt_event(2), token_event("a"), stopped});
  EXPECT_EQ(by_string["stop_reason"], "stop_sequence");
  EXPECT_EQ(by_string["stop_sequence"], "END");

  const std::vector<TextEvent> cut = {prompt_event(2), token_event("a"),
                                      finish_event(FinishReason::kLength)};
  EXPECT_EQ(whole(cut, 1)["stop_reason"], "max_tokens");
  EXPECT_EQ(whole(cut, 5)["stop_reason"], "model_context_window_exceeded");
  EXPECT_EQ(whole({prompt_event(2), finish_event(FinishReason::kLength)}, 0)["content"],
            Json::array());
}

TEST(AnthropicReply, CallsAreBlocksOfTheirOwn) {
  const std::vector<TextEvent> events = {prompt_event(2), token_event("Hm [get{\"a\":"),
                                         token_event("1}] [put]"),
                                         finish_event(FinishReason::kStop)};
  const Json body = whole(events, 10, true);
  EXPECT_EQ(body["stop_reason"], "tool_use");
  EXPECT_EQ(dump_json(body["content"]),
            R"([{"type":"text","text":"Hm "},)"
            R"({"type":"tool_use","id":"call_0","name":"get","input":{"a":1}},)"
            R"({"type":"text","text":" "},)"
            R"({"type":"tool_use","id":"call_1","name":"put","input":{}}])");
}

TEST(AnthropicReply, ThoughtsAreBlocksOfTheirOwn) {
  const std::vector<TextEvent> events = {prompt_event(2), token_event("(h"), token_event("m)Yes"),
                                         finish_event(FinishReason::kStop)};
  EXPECT_EQ(dump_json(whole(events, 10, true)["content"]),
            R"([{"type":"thinking","thinking":"hm","signature":""},{"type":"text","text":"Yes"}])");
  const std::string out = answered(request(true), events, true);
  EXPECT_NE(out.find(R"("content_block":{"type":"thinking","thinking":"","signature":""}})"),
            std::string::npos);
  EXPECT_NE(out.find(R"("index":0,"delta":{"type":"thinking_delta","thinking":"m"}})"),
            std::string::npos);
  EXPECT_NE(out.find(R"("index":1,"delta":{"type":"text_delta","text":"Yes"}})"),
            std::string::npos);
}

TEST(AnthropicReply, ArgumentsThatAreNoObjectAreTold) {
  const Json body = whole(
      {prompt_event(2), token_event("[get{\"a\":]"), finish_event(FinishReason::kStop)}, 10, true);
  EXPECT_EQ(dump_json(body["content"][0]["input"]), R"({"arguments":"{\"a\":"})");
}

TEST(AnthropicReply, CallsAreStreamedAsFragmentsOfJson) {
  const std::string out = answered(request(true),
                                   {prompt_event(2), token_event("Hm"), token_event("[get{\"a\":"),
                                    token_event("1}]"), finish_event(FinishReason::kStop)},
                                   true);
  const std::string expected =
      "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
      "event: content_block_start\n"
      R"(data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use",)"
      R"("id":"call_0","name":"get","input":{}}})"
      "\n\n"
      "event: content_block_delta\n"
      R"(data: {"type":"content_block_delta","index":1,)"
      R"("delta":{"type":"input_json_delta","partial_json":"{\"a\":"}})"
      "\n\n"
      "event: content_block_delta\n"
      R"(data: {"type":"content_block_delta","index":1,)"
      R"("delta":{"type":"input_json_delta","partial_json":"1}"}})"
      "\n\n"
      "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}\n\n"
      "event: message_delta\n";
  EXPECT_NE(out.find(expected), std::string::npos) << out;
  EXPECT_NE(out.find(R"("stop_reason":"tool_use")"), std::string::npos);
}

TEST(AnthropicReply, AnEmptyAnswerHasNoBlocks) {
  const std::string out =
      answered(request(true), {prompt_event(2), finish_event(FinishReason::kStop)});
  EXPECT_EQ(out.find("content_block"), std::string::npos);
  EXPECT_NE(out.find("message_delta"), std::string::npos);
  EXPECT_TRUE(out.ends_with("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"));
}

TEST(AnthropicReply, ErrorsHaveTheTypeOfTheirStatus) {
  const auto type_of = [](int http_status) {
    return anthropic_error_body({.http_status = http_status, .message = "x"})["error"]["type"];
  };
  EXPECT_EQ(type_of(400), "invalid_request_error");
  EXPECT_EQ(type_of(401), "authentication_error");
  EXPECT_EQ(type_of(404), "not_found_error");
  EXPECT_EQ(type_of(413), "request_too_large");
  EXPECT_EQ(type_of(429), "rate_limit_error");
  EXPECT_EQ(type_of(500), "api_error");
  EXPECT_EQ(type_of(503), "overloaded_error");
  EXPECT_EQ(dump_json(anthropic_error_body({.http_status = 400, .message = "no"})),
            R"({"type":"error","error":{"type":"invalid_request_error","message":"no"}})");
}

TEST(AnthropicReply, AnErrorInAStreamIsAnEvent) {
  const auto out = writer(request(true));
  const OpenAiError error = {.http_status = 500, .message = "broken"};
  EXPECT_TRUE(out->fail(error).starts_with("{"));  // nothing was sent: a body
  std::string bytes;
  out->take(0, prompt_event(2), bytes);
  EXPECT_TRUE(out->fail(error).starts_with("event: error\ndata: {\"type\":\"error\""));
  bytes.clear();
  out->end(Status::internal("broken"), bytes);
  EXPECT_EQ(bytes,
            "event: error\n"
            R"(data: {"type":"error","error":{"type":"api_error","message":"broken"}})"
            "\n\n");
}

TEST(AnthropicReply, AWholeReplyThatFailedIsLeftToTheCaller) {
  const auto out = writer(request(false));
  std::string bytes;
  out->end(Status::internal("broken"), bytes);
  EXPECT_EQ(bytes, "");
}

TEST(AnthropicReply, WarningsTravelWithTheMessage) {
  OpenAiRequest warned = request(false);
  warned.warnings = {"careful"};
  EXPECT_NE(answered(warned, {prompt_event(1), finish_event(FinishReason::kStop)})
                .find(R"("warnings":["careful"])"),
            std::string::npos);
}

}  // namespace
}  // namespace ingot
