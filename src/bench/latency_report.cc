// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "bench/report.h"

namespace ingot {
namespace {

std::string percent(double share) {
  return fmt::format("{:.1f}", share * 100);
}

// Curves over the batch size, one for each depth and length.
Plot curves(const std::vector<LatencyRecord>& records, bool is_prompt) {
  Plot plot{.kind = Plot::Kind::kLines,
            .title = is_prompt ? "Prompts" : "Generation",
            .x_label = "sequences at the same time",
            .y_label = "tokens/s, all sequences",
            .categories = {},
            .series = {}};
  std::map<std::pair<int64_t, int64_t>, std::map<double, double>> points;
  for (const LatencyRecord& record : records) {
    if (record.is_prompt == is_prompt)
      points[{record.depth, record.tokens}][static_cast<double>(record.batch)] =
          record.tokens_per_second.mean;
  }
  for (const auto& [which, values] : points) {
    PlotSeries& series = plot.series.emplace_back();
    series.name = fmt::format("{} tokens at depth {}", which.second, which.first);
    for (const auto& [batch, speed] : values) {
      series.x.push_back(batch);
      series.y.push_back(speed);
    }
  }
  return plot;
}

}  // namespace

BenchReport latency_report(const std::vector<LatencyRecord>& records, const MachinePeaks& peaks) {
  BenchReport report;
  report.title = "ingot bench latency";
  TextTable table;
  table.columns = {"test",    "batch",     "depth",      "tokens/s", "per sequence",
                   "ms/step", "read GB/s", "% of floor", "% of peak"};
  Json objects = Json::array();
  for (const LatencyRecord& record : records) {
    const Spread& speed = record.tokens_per_second;
    const double read = record.read_speed(peaks);
    const double floor = record.share_of_bandwidth(peaks);
    const double peak = record.share_of_peak(peaks);
    const std::string name =
        fmt::format("{} {}", record.is_prompt ? "prompt" : "generate", record.tokens);
    table.rows.push_back(
        {name, fmt::format("{}", record.batch), fmt::format("{}", record.depth),
         fmt::format("{:.2f} ± {:.2f}", speed.mean, speed.deviation),
         fmt::format("{:.2f}", record.per_sequence()),
         record.is_prompt ? "-" : fmt::format("{:.2f}", record.step_seconds() * 1e3),
         fmt::format("{:.1f}", read * 1e-9), percent(floor), percent(peak)});
    objects.push_back({{"test", record.is_prompt ? "prompt" : "generate"},
                       {"tokens", record.tokens},
                       {"batch", record.batch},
                       {"depth", record.depth},
                       {"tokens_per_s", speed.mean},
                       {"tokens_per_s_deviation", speed.deviation},
                       {"tokens_per_s_median", speed.p50},
                       {"tokens_per_s_per_sequence", record.per_sequence()},
                       {"seconds", record.seconds},
                       {"bytes", record.bytes},
                       {"read_gb_per_s", read > 0 ? Json(read * 1e-9) : Json()},
                       {"floor_seconds", read > 0 ? Json(record.floor_seconds(peaks)) : Json()},
                       {"share_of_floor", floor},
                       {"share_of_peak", peak}});
  }
  report.tables.push_back(std::move(table));
  std::string peak = fmt::format("{:.0f} GFLOP/s of floats", peaks.float_flops_per_s * 1e-9);
  if (peaks.fp8_flops_per_s > 0)
    peak += fmt::format(", {:.0f} GFLOP/s of fp8", peaks.fp8_flops_per_s * 1e-9);
  if (peaks.int8_ops_per_s > 0)
    peak += fmt::format(", {:.0f} GOP/s of bytes", peaks.int8_ops_per_s * 1e-9);
  const bool is_read_around = std::ranges::any_of(
      records, [](const LatencyRecord& record) { return record.read_bytes_per_s > 0; });
  report.notes.push_back(fmt::format(
      "floor: the time to read weights, keys and values once a pass{}; peak: {}; all measured in "
      "this run",
      is_read_around ? ", as fast as memory was read around the runs" : "", peak));
  for (const bool is_prompt : {true, false}) {
    if (Plot plot = curves(records, is_prompt); !plot.series.empty())
      report.plots.push_back(std::move(plot));
  }
  report.json.emplace_back("results", std::move(objects));
  return report;
}

}  // namespace ingot
