// SPDX-License-Identifier: Apache-2.0
#include "server/prometheus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>

namespace ingot {
namespace {

using testing::ElementsAre;

TEST(Prometheus, BucketsAreAtMostTheirBoundAndCumulative) {
  constexpr std::array<double, 3> kBounds = {0.5, 1, 10};
  Histogram histogram(kBounds);
  for (const double value : {0.5, 0.6, 1.0, 5.0, 11.0})
    histogram.add(value);
  EXPECT_THAT(histogram.counts(), ElementsAre(1, 2, 1, 1));
  Histogram twice(kBounds);
  twice.add(histogram);
  twice.add(histogram);
  MetricText out;
  out.family("a", MetricText::Type::kHistogram, "Of a.");
  out.add("x=\"1\"", twice);
  EXPECT_EQ(out.take(),
            "# HELP a Of a.\n# TYPE a histogram\n"
            "a_bucket{x=\"1\",le=\"0.5\"} 2\n"
            "a_bucket{x=\"1\",le=\"1.0\"} 6\n"
            "a_bucket{x=\"1\",le=\"10.0\"} 8\n"
            "a_bucket{x=\"1\",le=\"+Inf\"} 10\n"
            "a_sum{x=\"1\"} 36.2\n"
            "a_count{x=\"1\"} 10\n");
}

TEST(Prometheus, LabelsCannotEndTheirQuotes) {
  EXPECT_EQ(format_labels({{"a", "x\"} 1\n"}, {"b", "c:\\d"}, {"c", "\xff"}}),
            "a=\"x\\\"} 1\\n\",b=\"c:\\\\d\",c=\"\uFFFD\"");
}

TEST(Prometheus, NumbersThatAreNoneHaveNames) {
  MetricText out;
  out.gauge("g", "G.", "", std::numeric_limits<double>::infinity());
  out.gauge("h", "H.", "", std::numeric_limits<double>::quiet_NaN());
  out.counter("c_total", "C.", "", int64_t{1} << 60);
  EXPECT_EQ(out.take(),
            "# HELP g G.\n# TYPE g gauge\ng +Inf\n# HELP h H.\n# TYPE h gauge\nh NaN\n"
            "# HELP c_total C.\n# TYPE c_total counter\nc_total 1152921504606846976\n");
}

TEST(Prometheus, OneTwoFiveEndsAtTheLargest) {
  EXPECT_THAT(one_two_five(100), ElementsAre(1, 2, 5, 10, 20, 50, 100));
  EXPECT_THAT(one_two_five(4096), ElementsAre(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000));
  EXPECT_THAT(one_two_five(0), ElementsAre());
}

TEST(Prometheus, LargeBoundsAreSpelledAsClientLibrariesDo) {
  constexpr std::array<double, 3> kBounds = {0.001, 500000, 2000000};
  MetricText out;
  out.family("a", MetricText::Type::kHistogram, "A.");
  out.add("", Histogram(kBounds));
  const std::string text = out.take();
  for (const char* bound : {"le=\"0.001\"", "le=\"500000.0\"", "le=\"2e+06\""})
    EXPECT_THAT(text, testing::HasSubstr(bound));
}

}  // namespace
}  // namespace ingot
