// SPDX-License-Identifier: Apache-2.0
#include "server/http_parser.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace ingot {
namespace {

constexpr std::string_view kGet =
    "GET /v1/models?x=1 HTTP/1.1\r\nHost: a\r\nX-Thing: Some Value\r\n\r\n";

// The problem's status, or 0 when the request was taken whole.
int outcome(std::string bytes, const HttpLimits& limits = {}) {
  HttpParser parser(limits);
  for (int i = 0; i < 1000 && !parser.is_done(); ++i) {
    if (const auto problem = parser.push(bytes)) return problem->status;
  }
  return parser.is_done() ? 0 : -1;
}

std::string post(std::string_view headers, std::string_view body) {
  return fmt::format("POST / HTTP/1.1\r\nHost: a\r\n{}\r\n{}", headers, body);
}

TEST(HttpParser, ReadsMethodPathQueryAndHeaders) {
  HttpParser parser{HttpLimits()};
  std::string bytes(kGet);
  ASSERT_FALSE(parser.push(bytes).has_value());
  ASSERT_TRUE(parser.has_head());
  ASSERT_TRUE(parser.is_done());
  const HttpRequest request = parser.take();
  EXPECT_EQ(request.method, "GET");
  EXPECT_EQ(request.path, "/v1/models");
  EXPECT_EQ(request.query, "x=1");
  EXPECT_EQ(request.header("x-thing"), "Some Value");
  EXPECT_EQ(request.header("nothing"), "");
  EXPECT_TRUE(parser.keeps_alive());
  EXPECT_TRUE(bytes.empty());
}

TEST(HttpParser, SkipsEmptyLinesHoweverTheyAreCut) {
  HttpParser parser{HttpLimits()};
  std::string inbox;
  for (const char c : "\r\n\r\n" + std::string(kGet)) {
    inbox += c;
    ASSERT_FALSE(parser.push(inbox).has_value());
  }
  EXPECT_TRUE(parser.is_done());
}

TEST(HttpParser, ReadsBodiesHoweverTheyAreCut) {
  const std::string body = "hello, body";
  const std::string plain = post(fmt::format("Content-Length: {}\r\n", body.size()), body);
  const std::string chunked = post("Transfer-Encoding: chunked\r\n",
                                   "5;ext=1\r\nhello\r\n6\r\n, body\r\n0\r\nT: x\r\n\r\n");
  std::mt19937 random(7);
  for (int trial = 0; trial < 200; ++trial) {
    for (const std::string& whole : {plain, chunked}) {
      HttpParser parser{HttpLimits()};
      std::string inbox;
      size_t at = 0;
      for (int turn = 0; turn < 1000 && !parser.is_done(); ++turn) {
        const size_t size = std::min<size_t>(whole.size() - at, random() % 7);
        inbox += whole.substr(at, size);
        at += size;
        ASSERT_FALSE(parser.push(inbox).has_value());
      }
      ASSERT_TRUE(parser.is_done());
      EXPECT_EQ(parser.take().body, body);
    }
  }
}

TEST(HttpParser, LeavesTheNextRequestAlone) {
  HttpParser parser{HttpLimits()};
  std::string bytes = post("Content-Length: 2\r\n", "ab") + std::string(kGet);
  while (!parser.is_done())
    ASSERT_FALSE(parser.push(bytes).has_value());
  EXPECT_EQ(parser.take().body, "ab");
  EXPECT_EQ(bytes, kGet);
}

TEST(HttpParser, StopsAfterTheHeadSoThatItCanBeJudgedFirst) {
  HttpParser parser{HttpLimits()};
  std::string bytes = post("Content-Length: 2\r\n", "ab");
  ASSERT_FALSE(parser.push(bytes).has_value());
  EXPECT_TRUE(parser.has_head());
  EXPECT_FALSE(parser.is_done());
  EXPECT_EQ(bytes, "ab");
}

TEST(HttpParser, RefusesWhatProxiesDisagreeAbout) {
  EXPECT_EQ(outcome(post("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n")), 400);
  EXPECT_EQ(outcome(post("Transfer-Encoding: chunked\r\nContent-Length: 2\r\n", "0\r\n\r\n")), 400);
  EXPECT_EQ(outcome(post("Content-Length: 2\r\nContent-Length: 3\r\n", "abc")), 400);
  EXPECT_EQ(outcome(post("Content-Length: 2\r\nContent-Length: 2\r\n", "ab")), 400);
  EXPECT_EQ(outcome(post("Content-Length: -2\r\n", "ab")), 400);
  EXPECT_EQ(outcome(post("Content-Length: 2, 2\r\n", "ab")), 400);
  EXPECT_EQ(outcome(post("Content-Length: +2\r\n", "ab")), 400);
  EXPECT_EQ(outcome(post("X: a\r\n folded\r\n", "")), 400);
  EXPECT_EQ(outcome("GET / HTTP/1.1\nHost: a\n\n\r\n\r\n"), 400);
  EXPECT_EQ(outcome(post(std::string("X: a\0b\r\n", 8), "")), 400);
  EXPECT_EQ(outcome(post("X : a\r\n", "")), 400);
  EXPECT_EQ(outcome(post(": a\r\n", "")), 400);
  EXPECT_EQ(outcome(post("Transfer-Encoding: chunked\r\n", "-2\r\nab\r\n0\r\n\r\n")), 400);
  EXPECT_EQ(outcome(post("Transfer-Encoding: chunked\r\n", "2\nab\r\n0\r\n\r\n")), 400);
  EXPECT_EQ(outcome(post("Transfer-Encoding: chunked\r\n", "fffffffffffffffff\r\nab")), 400);
  EXPECT_EQ(outcome(post("Transfer-Encoding: gzip, chunked\r\n", "")), 501);
  EXPECT_EQ(outcome(post("Transfer-Encoding: identity\r\n", "")), 501);
  EXPECT_EQ(outcome(post("Content-Encoding: gzip\r\nContent-Length: 1\r\n", "x")), 415);
  EXPECT_EQ(outcome("GET / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(outcome("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
  EXPECT_EQ(outcome("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(outcome("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), 505);
  EXPECT_EQ(outcome("\x16\x03\x01 hello"), 400);
  EXPECT_EQ(outcome("GET / HTTP/1.0\r\n\r\n"), 0);
}

TEST(HttpParser, HoldsItsLimits) {
  const HttpLimits limits;
  EXPECT_EQ(outcome(post(fmt::format("X: {}\r\n", std::string(limits.header_line_bytes, 'a')), "")),
            431);
  std::string many;
  for (size_t i = 0; i <= limits.headers; ++i)
    many += fmt::format("X{}: 1\r\n", i);
  EXPECT_EQ(outcome(post(many, "")), 431);
  EXPECT_EQ(outcome("GET /" + std::string(limits.header_bytes, 'a')), 431);
  HttpLimits small;
  small.body_bytes = 4;
  EXPECT_EQ(outcome(post("Content-Length: 4\r\n", "abcd"), small), 0);
  EXPECT_EQ(outcome(post("Content-Length: 5\r\n", "abcde"), small), 413);
  EXPECT_EQ(outcome(post("Content-Length: 99999999999999999999\r\n", "abcde"), small), 400);
  EXPECT_EQ(
      outcome(post("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n3\r\nabc\r\n0\r\n\r\n"), small),
      413);
}

}  // namespace
}  // namespace ingot
