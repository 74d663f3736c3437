// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "bench/serve_report.h"
#include "bench/spread.h"

namespace ingot {
namespace {

constexpr double kPercentiles[] = {0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 100};

Plot percentile_plot(const char* title, const ServeResult& result,
                     const std::vector<ServeFigures>& figures,
                     std::vector<double> ServeLatencies::*values) {
  Plot plot{.kind = Plot::Kind::kLines,
            .title = title,
            .x_label = "percentile",
            .y_label = "ms",
            .categories = {},
            .series = {}};
  for (size_t i = 0; i < figures.size(); ++i) {
    PlotSeries& series = plot.series.emplace_back();
    series.name = result.servers[i].target.name;
    const std::vector<double>& sorted = figures[i].ms.*values;
    for (const double p : kPercentiles) {
      series.x.push_back(p);
      series.y.push_back(sorted.empty() ? std::numeric_limits<double>::quiet_NaN()
                                        : percentile(sorted, p / 100));
    }
  }
  return plot;
}

// Seconds per point: a round number that makes some twenty of them.
double bucket_seconds(const ServeResult& result) {
  double longest = 0;
  for (const ServerResult& server : result.servers) {
    for (const ServeRun& run : server.rounds)
      longest = std::max(longest, run.seconds);
  }
  if (longest <= 0) return 1;
  double step = std::pow(10.0, std::floor(std::log10(longest / 24)));
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    if (longest / (step * factor) <= 24) return step * factor;
  }
  return step * 10;
}

struct Buckets {
  double width;
  std::vector<std::vector<double>> values = {};

  void add(double time, double value) {
    const auto at = static_cast<size_t>(std::max(time, 0.0) / width);
    if (at >= 1000) return;  // no run is longer: bucket_seconds() saw them all
    if (values.size() <= at) values.resize(at + 1);
    values[at].push_back(value);
  }
};

}  // namespace

std::vector<Plot> serve_plots(const ServeResult& result, const std::vector<ServeFigures>& figures) {
  const double width = bucket_seconds(result);
  Plot first{.kind = Plot::Kind::kLines,
             .title = "First token over time, median",
             .x_label = "seconds since the start, when sent",
             .y_label = "ms",
             .categories = {},
             .series = {}};
  Plot speed{.kind = Plot::Kind::kLines,
             .title = "Output over time",
             .x_label = "seconds since the start",
             .y_label = "tokens/s",
             .categories = {},
             .series = {}};
  for (const ServerResult& server : result.servers) {
    Buckets sent{width};
    Buckets tokens{width};
    for (const ServeRun& run : server.rounds) {
      for (const ServeRecord& record : run.requests) {
        if (record.outcome != ServeOutcome::kOk) continue;
        sent.add(record.sent, record.first * 1e3);
        // A part of text carries, on average, this many tokens.
        const double weight =
            static_cast<double>(record.output_tokens) / static_cast<double>(record.gaps.size() + 1);
        double time = record.sent + record.first;
        tokens.add(time, weight);
        for (const double gap : record.gaps)
          tokens.add(time += gap, weight);
      }
    }
    PlotSeries& first_series = first.series.emplace_back();
    first_series.name = server.target.name;
    for (size_t i = 0; i < sent.values.size(); ++i) {
      std::ranges::sort(sent.values[i]);
      first_series.x.push_back(static_cast<double>(i) * width);
      first_series.y.push_back(sent.values[i].empty() ? std::numeric_limits<double>::quiet_NaN()
                                                      : percentile(sent.values[i], 0.5));
    }
    PlotSeries& speed_series = speed.series.emplace_back();
    speed_series.name = server.target.name;
    const auto rounds = static_cast<double>(std::max<size_t>(server.rounds.size(), 1));
    for (size_t i = 0; i < tokens.values.size(); ++i) {
      speed_series.x.push_back(static_cast<double>(i) * width);
      speed_series.y.push_back(mean_of(tokens.values[i]) *
                               static_cast<double>(tokens.values[i].size()) / width / rounds);
    }
  }
  return {percentile_plot("First token", result, figures, &ServeLatencies::ttft),
          percentile_plot("Inter-token latency", result, figures, &ServeLatencies::itl),
          percentile_plot("End to end", result, figures, &ServeLatencies::e2el), first, speed};
}

}  // namespace ingot
