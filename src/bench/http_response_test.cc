// SPDX-License-Identifier: Apache-2.0
#include "bench/http_response.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bench/random_cuts.h"

namespace ingot {
namespace {

using testing::HasSubstr;

struct Heard {
  HttpResponseParser parser;
  HttpResponseHead head;
  std::string body;
  Status status;

  void push(std::string_view bytes) {
    if (!status.is_ok()) return;
    status = parser.push(bytes, {.on_head = [this](const HttpResponseHead& it) { head = it; },
                                 .on_body = [this](std::string_view part) { body += part; }});
  }
};

Heard heard(std::string_view text) {
  Heard heard;
  heard.push(text);
  return heard;
}

TEST(HttpResponse, ReadsHeadAndSizedBody) {
  const Heard it =
      heard("HTTP/1.1 200 OK\r\nContent-Type:  text/plain \r\nCONTENT-LENGTH: 5\r\n\r\nhello");
  ASSERT_TRUE(it.status.is_ok()) << it.status.message();
  EXPECT_EQ(it.head.status, 200);
  EXPECT_TRUE(it.head.is_success());
  EXPECT_EQ(it.head.header("content-type"), "text/plain");
  EXPECT_EQ(it.head.header("retry-after"), "");
  EXPECT_EQ(it.body, "hello");
  EXPECT_TRUE(it.parser.is_done());
  EXPECT_TRUE(it.parser.keeps_alive());
}

TEST(HttpResponse, KnowsWhetherTheConnectionLives) {
  EXPECT_FALSE(heard("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
                   .parser.keeps_alive());
  EXPECT_FALSE(heard("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n").parser.keeps_alive());
  EXPECT_TRUE(heard("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 0\r\n\r\n")
                  .parser.keeps_alive());
  EXPECT_TRUE(heard("HTTP/1.1 204 No Content\r\n\r\n").parser.keeps_alive());
  EXPECT_FALSE(heard("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab").parser.keeps_alive());
}

TEST(HttpResponse, SkipsInterimResponses) {
  const Heard it = heard(
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 429 Too Many Requests\r\nRetry-After: 3\r\n"
      "Content-Length: 0\r\n\r\n");
  ASSERT_TRUE(it.status.is_ok());
  EXPECT_EQ(it.head.status, 429);
  EXPECT_EQ(it.head.header("retry-after"), "3");
  EXPECT_TRUE(it.parser.is_done());
}

TEST(HttpResponse, ReadsUntilCloseWithoutSize) {
  Heard it = heard("HTTP/1.1 200 OK\r\n\r\nsome ");
  it.push("words");
  EXPECT_FALSE(it.parser.is_done());
  EXPECT_TRUE(it.parser.finish().is_ok());
  EXPECT_TRUE(it.parser.is_done());
  EXPECT_EQ(it.body, "some words");
  EXPECT_FALSE(it.parser.keeps_alive());
}

TEST(HttpResponse, DoesNotCareWhereTheBytesAreCut) {
  std::string text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  std::string expected;
  for (size_t i = 1; i < 60; ++i) {
    const std::string part(i * 13 % 97 + 1, static_cast<char>('a' + i % 26));
    text += fmt::format("{:x}{}\r\n", part.size(), i % 5 == 0 ? "; name=value" : "");
    text += part + "\r\n";
    expected += part;
  }
  text += "0\r\nTrailer: x\r\n\r\n";
  std::mt19937 random(11);
  for (int trial = 0; trial < 200; ++trial) {
    Heard it;
    feed_cut(text, random, 1 + static_cast<size_t>(trial),
             [&](std::string_view part) { it.push(part); });
    ASSERT_TRUE(it.status.is_ok()) << it.status.message() << " in trial " << trial;
    ASSERT_TRUE(it.parser.is_done());
    ASSERT_TRUE(it.parser.keeps_alive());
    ASSERT_EQ(it.body, expected);
  }
}

TEST(HttpResponse, RefusesNonsense) {
  const std::string head = "HTTP/1.1 200 OK\r\n";
  const std::string chunked = head + "Transfer-Encoding: chunked\r\n\r\n";
  for (const std::string& text :
       {std::string("SSH-2.0-OpenSSH_9.2\r\n"), std::string("HTTP/2 200\r\n\r\n"),
        std::string("HTTP/1.1 xyz\r\n"), head + "no colon\r\n", head + ": no name\r\n",
        head + "Content-Length: -1\r\n\r\n", head + "Content-Length: 99999999999999999999\r\n\r\n",
        head + "Content-Length: 1x\r\n\r\n", chunked + "zz\r\n", chunked + "\r\n",
        chunked + "fffffffffffffffff\r\n", chunked + "3\r\nabcd\r\n",
        head + "Content-Length: 1\r\n\r\nab", head + "A: " + std::string(20'000, 'x'),
        std::string(20'000, 'x')}) {
    const Heard it = heard(text);
    EXPECT_EQ(it.status.code(), StatusCode::kInvalidData) << text.substr(0, 60);
  }
  std::string many = head;
  for (int i = 0; i < 10'000; ++i)
    many += "Name: value\r\n";
  EXPECT_THAT(heard(many).status.message(), HasSubstr("headers"));
}

TEST(HttpResponse, SaysWhenTheConnectionWasClosedTooSoon) {
  EXPECT_THAT(HttpResponseParser().finish().message(), HasSubstr("without a word"));
  EXPECT_THAT(heard("HTTP/1.1 2").parser.finish().message(), HasSubstr("in the middle"));
  EXPECT_THAT(heard("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel")
                  .parser.finish()
                  .message(),
              HasSubstr("in the middle"));
}

}  // namespace
}  // namespace ingot
