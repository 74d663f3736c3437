// SPDX-License-Identifier: Apache-2.0
#include "bench/sse_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/limits.h"
#include "bench/random_cuts.h"

namespace ingot {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Events = std::vector<std::string>;

Events events_of(std::string_view text) {
  SseParser parser;
  Events events;
  const auto keep = [&](std::string_view data) { events.emplace_back(data); };
  EXPECT_TRUE(parser.push(text, keep).is_ok());
  parser.finish(keep);
  return events;
}

TEST(SseParser, GivesTheDataOfEachEvent) {
  EXPECT_THAT(events_of("data: a\n\ndata: b\n\n"), ElementsAre("a", "b"));
  EXPECT_THAT(events_of("data:a\r\n\r\ndata:  b\r\r"), ElementsAre("a", " b"));
  EXPECT_THAT(events_of(": hello\nevent: x\nid: 7\ndata: {\"a\":\ndata: 1}\nretry: 5\n\n"),
              ElementsAre("{\"a\":\n1}"));
  EXPECT_THAT(events_of("data\n\n"), ElementsAre(""));
  EXPECT_THAT(events_of("data: last"), ElementsAre("last"));
  EXPECT_THAT(events_of("\n\n: ping\n\ndatabase: no\n\n"), IsEmpty());
  EXPECT_THAT(events_of(""), IsEmpty());
}

TEST(SseParser, DoesNotCareWhereTheBytesAreCut) {
  std::string text;
  Events expected;
  for (int i = 0; i < 40; ++i) {
    const std::string data(static_cast<size_t>(i * 7 % 50), static_cast<char>('a' + i % 26));
    const char* const end = i % 3 == 0 ? "\n" : i % 3 == 1 ? "\r\n" : "\r";
    text += (i % 4 == 0 ? ": note" : "event: x") + std::string(end);
    text += "data: " + data + end + end;
    expected.push_back(data);
  }
  std::mt19937 random(7);
  for (int trial = 0; trial < 200; ++trial) {
    SseParser parser;
    Events events;
    feed_cut(text, random, 1 + static_cast<size_t>(trial), [&](std::string_view part) {
      ASSERT_TRUE(parser.push(part, [&](std::string_view data) { events.emplace_back(data); }));
    });
    ASSERT_EQ(events, expected) << "trial " << trial;
  }
}

TEST(SseParser, RefusesAnEventWithoutEnd) {
  SseParser parser;
  const std::string part(1 << 20, 'x');
  Status status;
  for (size_t i = 0; i <= limits::kConfigBytes / part.size() && status.is_ok(); ++i)
    status = parser.push(part, [](std::string_view) {});
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace ingot
