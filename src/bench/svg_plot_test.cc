// SPDX-License-Identifier: Apache-2.0
#include "bench/svg_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <limits>

namespace ingot {
namespace {

using testing::HasSubstr;
using testing::Not;

// Just enough XML: tags nest, attributes are quoted, no stray < or &. What is wrong, or "".
std::string xml_error(std::string_view text) {
  std::vector<std::string> open;
  size_t at = 0;
  while (at < text.size()) {
    if (text[at] == '&') {
      const size_t end = text.find(';', at);
      if (end == std::string_view::npos || end - at > 6) return "a bare &";
      at = end + 1;
      continue;
    }
    if (text[at] != '<') {
      ++at;
      continue;
    }
    if (text.substr(at).starts_with("<!")) {
      at = text.find('>', at) + 1;
      continue;
    }
    const bool closes = text[at + 1] == '/';
    size_t end = at + (closes ? 2 : 1);
    const size_t name_begin = end;
    while (end < text.size() && std::isalnum(static_cast<unsigned char>(text[end])) != 0)
      ++end;
    const std::string name(text.substr(name_begin, end - name_begin));
    if (name.empty()) return "a bare <";
    bool is_quoted = false;
    for (; end < text.size() && (is_quoted || text[end] != '>'); ++end) {
      if (text[end] == '"') is_quoted = !is_quoted;
      if (text[end] == '<') return "< inside " + name;
    }
    if (end >= text.size()) return name + " is not closed";
    if (closes) {
      if (open.empty() || open.back() != name) return "unexpected </" + name;
      open.pop_back();
    } else if (text[end - 1] != '/') {
      open.push_back(name);
    }
    at = end + 1;
  }
  return open.empty() ? "" : open.back() + " stays open";
}

std::vector<Plot> some_plots() {
  return {{.kind = Plot::Kind::kLines,
           .title = "throughput <of> \"a & b\"",
           .x_label = "concurrency",
           .y_label = "tokens/s",
           .categories = {},
           .series = {{"total", {1, 2, 4}, {10, 19, 30.5}}, {"each", {1, 2, 4}, {10, 9.5, 7}}}},
          {.kind = Plot::Kind::kBars,
           .title = "share of peak",
           .x_label = "%",
           .y_label = "",
           .categories = {"linear_q4_k_avx2", "x<y"},
           .series = {{"GB/s", {}, {90, std::numeric_limits<double>::quiet_NaN()}}}}};
}

TEST(SvgPlot, IsWellFormedXml) {
  const std::string svg = to_svg(some_plots());
  EXPECT_EQ(xml_error(svg), "");
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_THAT(svg, HasSubstr("throughput &lt;of&gt; &quot;a &amp; b&quot;"));
  EXPECT_THAT(svg, HasSubstr("tokens/s"));
  EXPECT_THAT(svg, HasSubstr("concurrency"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

TEST(SvgPlot, IsWellFormedWithoutPointsToo) {
  EXPECT_EQ(xml_error(to_svg({})), "");
  const std::vector<Plot> empty(2);
  EXPECT_EQ(xml_error(to_svg(empty)), "");
  std::vector<Plot> one(1);
  one[0].series = {{"single", {3}, {0}}};
  EXPECT_EQ(xml_error(to_svg(one)), "");
}

TEST(SvgPlot, PageHoldsImageAndTables) {
  const std::vector<TextTable> tables = {{"Result", {"what", "value"}, {{"a<b", "1"}}}};
  const std::string page = to_html("ingot bench", some_plots(), tables);
  EXPECT_EQ(xml_error(page), "");
  EXPECT_THAT(page, HasSubstr("<svg "));
  EXPECT_THAT(page, HasSubstr("<td>a&lt;b</td>"));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
}

TEST(SvgPlot, TheCheckerOfTheseTestsFindsErrors) {
  EXPECT_NE(xml_error("<a><b></a>"), "");
  EXPECT_NE(xml_error("<a x=\"1\">a & b</a>"), "");
  EXPECT_NE(xml_error("<a>1 < 2</a>"), "");
}

TEST(AxisTicks, AreRoundAndCoverTheLargest) {
  for (const double largest : {1e-6, 0.07, 0.99, 1.0, 6.0, 6.1, 47.0, 100.0, 123456.0}) {
    const std::vector<double> ticks = axis_ticks(largest);
    EXPECT_GE(ticks.back(), largest * (1 - 1e-9));
    EXPECT_LT(ticks[ticks.size() - 2], largest);
    EXPECT_LE(ticks.size(), 8u);
    EXPECT_EQ(ticks[0], 0);
  }
  EXPECT_EQ(axis_ticks(47), (std::vector<double>{0, 10, 20, 30, 40, 50}));
  EXPECT_EQ(axis_ticks(0).size(), 2u);
}

TEST(TextTable, AlignsNamesLeftAndNumbersRight) {
  const TextTable table{"", {"name", "t/s"}, {{"a", "1.0 ± 0.1"}, {"longer", "22"}}};
  EXPECT_EQ(table.to_text(),
            "name          t/s\n"
            "a       1.0 ± 0.1\n"
            "longer         22\n");
}

}  // namespace
}  // namespace ingot
