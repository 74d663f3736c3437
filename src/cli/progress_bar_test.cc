// SPDX-License-Identifier: Apache-2.0
#include "cli/progress_bar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace ingot {
namespace {

TEST(ProgressBar, ShowsShareAndTimeLeft) {
  EXPECT_EQ(render_bar("Loading", 0.5, 3.0, 40), "Loading [#######.......]  50%  3 s left");
  EXPECT_EQ(render_bar("Loading", 1.0, 3.0, 38), "Loading [############] 100%  0 s left");
}

TEST(ProgressBar, NeverExceedsTheTerminal) {
  for (int columns = 14; columns < 120; ++columns) {
    EXPECT_LE(render_bar("Loading", 0.37, 100.0, columns).size(), static_cast<size_t>(columns));
  }
}

TEST(ProgressBar, SurvivesFractionsOutOfRange) {
  EXPECT_THAT(render_bar("x", -1, 1, 60), testing::HasSubstr("  0%"));
  EXPECT_THAT(render_bar("x", 7, 1, 60), testing::HasSubstr("100%"));
  EXPECT_THAT(render_bar("x", std::numeric_limits<double>::quiet_NaN(), 1, 60),
              testing::HasSubstr("  0%"));
}

TEST(ProgressBar, SpellsDurationsForPeople) {
  EXPECT_EQ(format_duration(0.2), "1 s");
  EXPECT_EQ(format_duration(125), "2 min 5 s");
  EXPECT_EQ(format_duration(3725), "1 h 2 min");
  EXPECT_EQ(format_duration(-1), "0 s");
}

}  // namespace
}  // namespace ingot
