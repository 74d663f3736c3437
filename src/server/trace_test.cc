// SPDX-License-Identifier: Apache-2.0
#include "server/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ingot {
namespace {

using testing::MatchesRegex;

constexpr const char* kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr const char* kGood = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(Traceparent, IsReadAsTheRecommendationSaysIt) {
  const auto parent = parse_traceparent(kGood);
  ASSERT_TRUE(parent);
  EXPECT_EQ(parent->trace_id, kTrace);
  EXPECT_EQ(parent->parent_id, "00f067aa0ba902b7");
  EXPECT_TRUE(parent->is_sampled);
  EXPECT_FALSE(
      parse_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00")->is_sampled);
  EXPECT_FALSE(
      parse_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0a")->is_sampled);
  EXPECT_TRUE(
      parse_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0b")->is_sampled);
  // A version of the future may carry more.
  EXPECT_TRUE(parse_traceparent("01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more"));
  EXPECT_TRUE(parse_traceparent("fe-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
}

TEST(Traceparent, RefusesEverythingElse) {
  for (const char* text : {
           "",
           "00",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
           "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01more",
           "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
           "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
           "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0x",
           "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
           " 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
       }) {
    EXPECT_FALSE(parse_traceparent(text)) << text;
  }
}

TEST(Tracestate, IsAListOfKeysAndValues) {
  for (const char* text : {"a=1", "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", "fw529a3039@dt=x y",
                           "a=1, b=2 ,,c=3", "a*b/c_d-e=!~"})
    EXPECT_TRUE(is_tracestate(text)) << text;
  for (const char* text : {"", ",", "a", "a=", "=1", "A=1", "a=1,a=2", "a=b=c", "a@=1", "a@b@c=1",
                           "a=\x01", "a=\xc3\xa9"})
    EXPECT_FALSE(is_tracestate(text)) << text;
  std::string many;
  for (int i = 0; i < 33; ++i) {
    EXPECT_EQ(many.empty() || is_tracestate(many), true);
    many += "k" + std::to_string(i) + "=1,";
  }
  EXPECT_FALSE(is_tracestate(many));
}

TEST(Trace, GoesOnWithTheCallersOrBegins) {
  const TraceContext known =
      begin_trace({{"traceparent", kGood}, {"tracestate", "a=1"}, {"tracestate", "b=2"}});
  EXPECT_EQ(known.trace_id, kTrace);
  EXPECT_EQ(known.parent_id, "00f067aa0ba902b7");
  EXPECT_EQ(known.state, "a=1,b=2");
  EXPECT_THAT(known.span_id, MatchesRegex("[0-9a-f]+"));
  EXPECT_NE(known.span_id, known.parent_id);
  EXPECT_EQ(traceparent_text(known), std::string("00-") + kTrace + "-" + known.span_id + "-01");

  for (const HttpHeaders& headers : {HttpHeaders{},
                                     {{"traceparent", "nonsense"}, {"tracestate", "a=1"}},
                                     {{"traceparent", kGood}, {"traceparent", kGood}}}) {
    const TraceContext fresh = begin_trace(headers);
    EXPECT_EQ(fresh.trace_id.size(), 32U);
    EXPECT_NE(fresh.trace_id, kTrace);
    EXPECT_TRUE(fresh.parent_id.empty());
    EXPECT_TRUE(fresh.state.empty());
    EXPECT_TRUE(fresh.is_sampled);
  }
  EXPECT_NE(begin_trace({}).trace_id, begin_trace({}).trace_id);
}

}  // namespace
}  // namespace ingot
