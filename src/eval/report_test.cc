// SPDX-License-Identifier: Apache-2.0
#include "eval/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "eval/svg_plot.h"

namespace ingot {
namespace {

using testing::HasSubstr;
using testing::Not;

EvalReport sample() {
  EvalReport report{.title = "A <b>title</b>"};
  for (const double bits : {16.0, 8.5, 4.8}) {
    EvaluatedModel model{.name = fmt::format("model \"{}\" <i>", bits),
                         .bytes = static_cast<uint64_t>(bits * 1e6),
                         .bits_per_weight = bits,
                         .parameters = 1'000'000};
    PerplexityEntry entry{"wiki", "llama", 512, 0, {}};
    entry.result.perplexity = 20 + 4 / bits;
    model.perplexities.push_back(entry);
    KlEntry kl{"ref", "wiki", {}, make_histogram(std::vector<float>{0, 1e-9F, 1e-4F, 50, 1e9F})};
    kl.stats.mean_kl = bits > 10 ? 0 : 0.1 / bits;
    model.kl = kl;
    model.tasks.push_back(
        {"mmlu", 10, 5, {{"acc", 0.25, 0.1, 0.5}}, {{"law", {"acc", 0.5, 0, 1}}}, 1});
    model.sensitivity = SensitivityMatrix{
        "KL when quantized alone", {"attn_q", "ffn_down"}, {{0.1, NAN}, {0.0001, 0.5}}};
    model.outliers.push_back({"blk.0.attn_q", 0, 100, 2, {3, 1}});
    report.models.push_back(model);
  }
  report.models.push_back({.name = "broken", .failure = "no <such> recipe"});
  return report;
}

TEST(Report, HtmlIsWholeAndFetchesNothing) {
  const std::string html = to_html(sample());
  EXPECT_THAT(html, HasSubstr("</html>"));
  EXPECT_THAT(html, HasSubstr("A &lt;b&gt;title"));
  EXPECT_THAT(html, Not(HasSubstr("<b>title")));
  EXPECT_THAT(html, Not(HasSubstr("<i>")));
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("http://")));
  EXPECT_THAT(html, Not(HasSubstr("https://")));
  EXPECT_THAT(html, Not(HasSubstr("nan")));
  EXPECT_THAT(html, Not(HasSubstr("inf")));
  EXPECT_THAT(html, HasSubstr("prefers-color-scheme:dark"));
  for (const char* part : {"Quality against size", "class=\"frontier\"", "class=\"cell\"",
                           "Divergence token by token", "Outlier channels", "no &lt;such&gt;"})
    EXPECT_THAT(html, HasSubstr(part));
}

TEST(Report, JsonHasEveryNumber) {
  const Json json = to_json(sample());
  ASSERT_EQ(json["models"].size(), 4u);
  EXPECT_EQ(json["models"][0]["perplexity"][0]["perplexity"], 20.25);
  EXPECT_EQ(json["models"][0]["tasks"][0]["metrics"]["acc"]["value"], 0.25);
  EXPECT_TRUE(json["models"][0]["sensitivity"]["layers"][0][1].is_null());
  EXPECT_EQ(json["models"][3]["failure"], "no <such> recipe");
}

TEST(Report, TextIsATableForSeveralModels) {
  const std::string text = to_text(sample());
  EXPECT_THAT(text, HasSubstr("mean KL"));
  EXPECT_THAT(text, HasSubstr("mmlu"));
  EXPECT_EQ(std::ranges::count(text, '\n'), 5);
}

TEST(Report, FurtherTextsStandInTheTableWithTheirRatios) {
  EvalReport report;
  for (const double perplexity : {20.0, 21.0}) {
    EvaluatedModel& model = report.models.emplace_back();
    model.perplexities = {{.text = "first.txt", .result = {.perplexity = 9}},
                          {.text = "folder/second.txt", .result = {.perplexity = perplexity}}};
  }
  report.models.push_back({.name = "broken", .failure = "why"});
  const std::string text = to_text(report);
  EXPECT_THAT(text, HasSubstr("second.txt"));
  EXPECT_THAT(text, Not(HasSubstr("folder")));
  EXPECT_THAT(text, HasSubstr("1.05000"));
}

TEST(Report, HistogramTakesEveryValue) {
  const KlHistogram histogram = make_histogram(std::vector<float>{0, 1e-9F, 2e-8F, 1, 1e9F});
  int64_t sum = 0;
  for (const int64_t count : histogram.counts)
    sum += count;
  EXPECT_EQ(sum, 5);
  EXPECT_EQ(histogram.counts.front(), 3);
  EXPECT_EQ(histogram.counts.back(), 1);
}

TEST(SvgPlot, LeavesOutWhatCannotBeDrawn) {
  EXPECT_EQ(scatter_plot({}, "x", "y", false), "");
  EXPECT_EQ(scatter_plot({{"a", 1, 0, {}, {}}}, "x", "y", true), "") << "0 has no logarithm";
  EXPECT_THAT(scatter_plot({{"a", 1, 2, {}, {}}}, "x", "y", false), HasSubstr("<circle"));
  EXPECT_THAT(scatter_plot({{"a", NAN, 2, {}, {}}, {"b", 2, 1, {}, {}}}, "x", "y", true),
              Not(HasSubstr("nan")));
  EXPECT_EQ(heat_map({{NAN}}, {"a"}, "layer"), "");
  EXPECT_EQ(histogram_plot(1, 2, {0, 0}, "x"), "");
}

}  // namespace
}  // namespace ingot
