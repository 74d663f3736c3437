// SPDX-License-Identifier: Apache-2.0
#include "api/stop_strings.h"

#include <gtest/gtest.h>

namespace ingot {
namespace {

TEST(StopStrings, PassesEverythingWhenThereAreNone) {
  StopStrings stops({""});
  EXPECT_EQ(stops.push("any text"), "any text");
  EXPECT_FALSE(stops.has_matched());
}

TEST(StopStrings, EndsBeforeAStopStringSpreadOverPieces) {
  StopStrings stops({"\nUser:"});
  EXPECT_EQ(stops.push("fine\n"), "fine");
  EXPECT_EQ(stops.push("Us"), "");
  EXPECT_EQ(stops.push("er: more"), "");
  EXPECT_TRUE(stops.has_matched());
  EXPECT_EQ(stops.push("later"), "");
  EXPECT_EQ(stops.finish(), "");
}

TEST(StopStrings, ReleasesWhatTurnsOutToBeText) {
  StopStrings stops({"abcd"});
  EXPECT_EQ(stops.push("xabc"), "x");
  EXPECT_EQ(stops.push("abc"), "abc");
  EXPECT_EQ(stops.push("e"), "abce");
  EXPECT_FALSE(stops.has_matched());
}

TEST(StopStrings, GivesBackTheHeldPartAtTheEnd) {
  StopStrings stops({"###"});
  EXPECT_EQ(stops.push("a##"), "a");
  EXPECT_EQ(stops.finish(), "##");
}

TEST(StopStrings, TheEarliestOfSeveralWins) {
  StopStrings stops({"late", "ear"});
  EXPECT_EQ(stops.push("so early, not late"), "so ");
  EXPECT_TRUE(stops.has_matched());
}

TEST(StopStrings, HoldsTheLongestCandidateOfOverlappingStops) {
  StopStrings stops({"aab", "ab"});
  EXPECT_EQ(stops.push("aa"), "");
  EXPECT_EQ(stops.push("aab"), "aa");
  EXPECT_TRUE(stops.has_matched());
}

}  // namespace
}  // namespace ingot
