// SPDX-License-Identifier: Apache-2.0
#include "cli/iso_time.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

int64_t seconds(std::string_view text) {
  const auto time = parse_iso_time(text);
  return time.is_ok() ? time->time_since_epoch().count() : -1;
}

TEST(IsoTime, ReadsDatesAndTimes) {
  EXPECT_EQ(seconds("1970-01-02"), 86400);
  EXPECT_EQ(seconds("2024-07-26T12:34:56"), 1721997296);
  EXPECT_EQ(seconds("2024-07-26 12:34:56"), 1721997296);
  EXPECT_EQ(seconds("2024-07-26T12:34"), 1721997240);
  EXPECT_EQ(seconds("2024-07-26T12:34:56.789Z"), 1721997296);
  EXPECT_EQ(seconds("2024-07-26T12:34:56+02:00"), 1721997296);
}

TEST(IsoTime, RefusesWhatIsNoTime) {
  for (const char* text : {"", "now", "2024-13-01", "2024-02-30", "2024-07-26T24:00:00",
                           "2024-07-26T12:34:56 pm", "26.07.2024", "2024-07-26Tx"}) {
    EXPECT_FALSE(parse_iso_time(text).is_ok()) << text;
  }
}

}  // namespace
}  // namespace ingot
