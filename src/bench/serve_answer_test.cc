// SPDX-License-Identifier: Apache-2.0
#include "bench/serve_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/random_cuts.h"

namespace ingot {
namespace {

using testing::HasSubstr;

const HttpResponseHead kStream{200, {{"content-type", "text/event-stream"}}};

struct HeardAnswer {
  Status status;
  ServeAnswer answer;
};

HeardAnswer hear(const HttpResponseHead& head, std::string_view body, size_t longest_part = 4096) {
  ServeAnswerReader reader;
  reader.on_head(head);
  std::mt19937 random(3);
  BenchClock::time_point time;
  feed_cut(body, random, longest_part,
           [&](std::string_view part) { reader.on_body(part, time += std::chrono::seconds(1)); });
  HeardAnswer heard;
  heard.status = reader.finish(Status::ok(), time);
  heard.answer = reader.take();
  return heard;
}

constexpr const char* kCompletion =
    "data: {\"choices\":[{\"text\":\"one\",\"index\":0,\"finish_reason\":null}]}\n\n"
    "data: {\"choices\":[{\"text\":\"\",\"index\":0,\"finish_reason\":null}]}\n\n"
    "data: {\"choices\":[{\"text\":\" two\",\"index\":0,\"finish_reason\":\"length\"}]}\n\n"
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":3,"
    "\"prompt_tokens_details\":{\"cached_tokens\":4}}}\n\n"
    "data: [DONE]\n\n";

TEST(ServeAnswer, CountsTokensAndReadsUsageHoweverItIsCut) {
  for (const size_t longest : {size_t{1}, size_t{2}, size_t{7}, size_t{50}, size_t{4096}}) {
    const HeardAnswer heard = hear(kStream, kCompletion, longest);
    ASSERT_TRUE(heard.status.is_ok()) << heard.status.message();
    EXPECT_EQ(heard.answer.chunks.size(), 3U);  // the empty one is a token in the making
    EXPECT_EQ(heard.answer.text, "one two");
    EXPECT_EQ(heard.answer.finish_reason, "length");
    EXPECT_EQ(heard.answer.prompt_tokens, 9);
    EXPECT_EQ(heard.answer.output_tokens, 3);
    EXPECT_EQ(heard.answer.cached_tokens, 4);
    EXPECT_EQ(*heard.answer.last, heard.answer.chunks.back());
  }
}

TEST(ServeAnswer, ReadsChatDeltas) {
  const HeardAnswer heard = hear(
      kStream,
      "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"},"
      "\"finish_reason\":null}]}\n\n"
      "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"},\"finish_reason\":null}]}\n\n"
      "data: {\"choices\":[{\"delta\":{\"content\":\"yes\"},\"finish_reason\":null}]}\n\n"
      "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
      "data: {\"choices\":[],\"timings\":{\"cache_n\":6}}\n\n",
      1);
  ASSERT_TRUE(heard.status.is_ok()) << heard.status.message();
  EXPECT_EQ(heard.answer.chunks.size(), 2U);
  EXPECT_EQ(heard.answer.text, "hmyes");
  EXPECT_EQ(heard.answer.cached_tokens, 6);
  EXPECT_FALSE(heard.answer.output_tokens);
  EXPECT_GT(*heard.answer.last, heard.answer.chunks.back());
}

TEST(ServeAnswer, TakesAWholeAnswerToo) {
  const HeardAnswer heard =
      hear({200, {{"content-type", "application/json"}}},
           R"({"choices":[{"message":{"role":"assistant","content":"yes"},"finish_reason":"stop"}],
               "usage":{"prompt_tokens":2,"completion_tokens":1}})",
           5);
  ASSERT_TRUE(heard.status.is_ok()) << heard.status.message();
  EXPECT_EQ(heard.answer.text, "yes");
  EXPECT_EQ(heard.answer.chunks.size(), 1U);
}

TEST(ServeAnswer, PassesOnTheServersWords) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"error":{"message":"too long","type":"invalid_request_error"}})", "HTTP 429: too long"},
      {R"({"error":"busy"})", "HTTP 429: busy"},
      {R"({"object":"error","message":"no"})", "HTTP 429: no"},
      {R"({"detail":"Not Found"})", "HTTP 429: Not Found"},
      {"plain text", "HTTP 429: plain text"},
      {"", "HTTP 429: "},
  };
  for (const auto& [body, message] : cases) {
    const HeardAnswer heard = hear({429, {{"retry-after", "2"}}}, body);
    EXPECT_EQ(heard.status.message(), message);
    EXPECT_EQ(heard.answer.retry_after, 2);
    EXPECT_EQ(heard.answer.http_status, 429);
  }
  EXPECT_LT(hear({500, {}}, std::string(5000, 'x')).status.message().size(), 400U);
}

TEST(ServeAnswer, NoticesWhatBreaksAStream) {
  EXPECT_THAT(hear(kStream, "data: {\"choices\":[{\"text\":\"a\"}]}\n\n").status.message(),
              HasSubstr("without saying that it ended"));
  EXPECT_THAT(hear(kStream, "data: {\"error\":{\"message\":\"out of pages\"}}\n\ndata: [DONE]\n\n")
                  .status.message(),
              HasSubstr("out of pages"));
  EXPECT_FALSE(hear(kStream, "data: {oops\n\ndata: [DONE]\n\n").status.is_ok());
  EXPECT_FALSE(hear({200, {}}, "<html>").status.is_ok());
  // Nothing of a strange shape is more than ignored.
  EXPECT_TRUE(hear(kStream, "data: 7\n\ndata: {\"choices\":[3],\"usage\":[]}\n\ndata: [DONE]\n\n")
                  .status.is_ok());
}

}  // namespace
}  // namespace ingot
