// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/report.h"

namespace ingot {
namespace {

struct RunFigures {
  RunTotals totals;
  double seconds = 0;
  Spread first_token;
  Spread gap;
  double reuse = 0;    // of what was reusable; not a number where nothing was
  double outside = 0;  // of the forward pass, of all time in steps
  StepTimes shares;    // of the whole run's time
};

RunFigures run_figures(const RunRecord& record) {
  RunFigures figures;
  figures.totals = totals_of(record);
  figures.seconds = std::max(record.seconds, 1e-9);
  std::vector<double> first_tokens;
  std::vector<double> gaps;
  for (const RequestRecord& request : record.requests) {
    first_tokens.push_back(request.first_token_seconds);
    gaps.insert(gaps.end(), request.gaps.begin(), request.gaps.end());
  }
  figures.first_token = spread_of(std::move(first_tokens));
  figures.gap = spread_of(std::move(gaps));
  if (figures.totals.reusable_tokens > 0) {
    figures.reuse = static_cast<double>(figures.totals.reused_of_reusable) /
                    static_cast<double>(figures.totals.reusable_tokens);
  }
  const StepTimes& times = record.times;
  const double all = times.plan + times.forward + times.sample;
  if (all > 0) figures.outside = (times.plan + times.sample) / all;
  figures.shares = {times.plan / figures.seconds, times.forward / figures.seconds,
                    times.sample / figures.seconds};
  return figures;
}

Json spread_json(const Spread& spread) {
  return {{"p50", spread.p50},
          {"p90", spread.p90},
          {"p99", spread.p99},
          {"mean", spread.mean},
          {"max", spread.largest}};
}

Json run_json(const NamedRun& run, const RunFigures& figures) {
  const RunTotals& totals = figures.totals;
  const int64_t computed = totals.prompt_tokens - totals.reused_tokens;
  const auto per_second = [&](int64_t count) {
    return static_cast<double>(count) / figures.seconds;
  };
  const auto requests = static_cast<int64_t>(run.record.requests.size());
  return {{"name", run.name},
          {"concurrency", run.record.concurrency},
          {"requests", requests},
          {"seconds", run.record.seconds},
          {"steps", run.record.steps},
          {"requests_per_s", per_second(requests)},
          {"prompt_tokens", totals.prompt_tokens},
          {"computed_prompt_tokens", computed},
          {"reused_prompt_tokens", totals.reused_tokens},
          {"reusable_prompt_tokens", totals.reusable_tokens},
          {"reuse_of_reusable", totals.reusable_tokens > 0 ? Json(figures.reuse) : Json()},
          {"output_tokens", totals.output_tokens},
          {"computed_prompt_tokens_per_s", per_second(computed)},
          {"reused_prompt_tokens_per_s", per_second(totals.reused_tokens)},
          {"output_tokens_per_s", per_second(totals.output_tokens)},
          {"total_tokens_per_s", per_second(totals.prompt_tokens + totals.output_tokens)},
          {"first_token_seconds", spread_json(figures.first_token)},
          {"inter_token_seconds", spread_json(figures.gap)},
          {"preemptions", run.record.preemptions},
          {"cache_waste", {{"mean", run.record.mean_waste}, {"max", run.record.max_waste}}},
          {"step_seconds",
           {{"plan", run.record.times.plan},
            {"forward", run.record.times.forward},
            {"sample", run.record.times.sample}}},
          {"time_shares",
           {{"plan", figures.shares.plan},
            {"forward", figures.shares.forward},
            {"sample", figures.shares.sample}}},
          {"outside_forward", figures.outside}};
}

std::string milliseconds(double seconds) {
  return fmt::format("{:.1f}", seconds * 1e3);
}

std::string precise_percent(double share) {
  return fmt::format("{:.2f}", share * 100);
}

TextTable table_of(const std::vector<NamedRun>& runs, const std::vector<RunFigures>& figures) {
  TextTable table;
  table.columns.emplace_back("");
  for (const NamedRun& run : runs)
    table.columns.push_back(run.name);
  const auto row = [&](const char* name, auto&& cell) {
    std::vector<std::string>& cells = table.rows.emplace_back();
    cells.emplace_back(name);
    for (size_t i = 0; i < runs.size(); ++i)
      cells.push_back(cell(runs[i].record, figures[i]));
  };
  using Record = const RunRecord&;
  using Numbers = const RunFigures&;
  const auto rate = [](auto count, Numbers numbers) {
    return fmt::format("{:.2f}", static_cast<double>(count) / numbers.seconds);
  };
  row("requests", [](Record r, Numbers) { return fmt::format("{}", r.requests.size()); });
  row("seconds", [](Record r, Numbers) { return fmt::format("{:.2f}", r.seconds); });
  row("requests/s", [&](Record r, Numbers n) { return rate(r.requests.size(), n); });
  row("prompt tokens/s, computed",
      [&](Record, Numbers n) { return rate(n.totals.prompt_tokens - n.totals.reused_tokens, n); });
  row("prompt tokens/s, reused",
      [&](Record, Numbers n) { return rate(n.totals.reused_tokens, n); });
  row("output tokens/s", [&](Record, Numbers n) { return rate(n.totals.output_tokens, n); });
  row("total tokens/s",
      [&](Record, Numbers n) { return rate(n.totals.prompt_tokens + n.totals.output_tokens, n); });
  row("first token, p50 ms", [](Record, Numbers n) { return milliseconds(n.first_token.p50); });
  row("first token, p90 ms", [](Record, Numbers n) { return milliseconds(n.first_token.p90); });
  row("first token, p99 ms", [](Record, Numbers n) { return milliseconds(n.first_token.p99); });
  row("inter-token, p50 ms", [](Record, Numbers n) { return milliseconds(n.gap.p50); });
  row("inter-token, p90 ms", [](Record, Numbers n) { return milliseconds(n.gap.p90); });
  row("inter-token, p99 ms", [](Record, Numbers n) { return milliseconds(n.gap.p99); });
  row("prefix reuse, % of reusable", [](Record, Numbers n) {
    return n.totals.reusable_tokens > 0 ? precise_percent(n.reuse) : std::string("-");
  });
  row("preemptions", [](Record r, Numbers) { return fmt::format("{}", r.preemptions); });
  row("cache waste, mean %", [](Record r, Numbers) { return precise_percent(r.mean_waste); });
  row("cache waste, max %", [](Record r, Numbers) { return precise_percent(r.max_waste); });
  row("time to plan, %", [](Record, Numbers n) { return precise_percent(n.shares.plan); });
  row("time of the forward pass, %",
      [](Record, Numbers n) { return precise_percent(n.shares.forward); });
  row("time to sample, %", [](Record, Numbers n) { return precise_percent(n.shares.sample); });
  row("outside the forward pass, %", [](Record, Numbers n) { return precise_percent(n.outside); });
  return table;
}

std::vector<Plot> plots_of(const std::vector<NamedRun>& runs,
                           const std::vector<RunFigures>& figures) {
  Plot speed{.kind = Plot::Kind::kLines,
             .title = "Throughput",
             .x_label = "requests in flight",
             .y_label = "tokens/s",
             .categories = {},
             .series = {{"output", {}, {}}, {"prompt, computed", {}, {}}}};
  Plot latency{.kind = Plot::Kind::kLines,
               .title = "Inter-token latency",
               .x_label = "requests in flight",
               .y_label = "ms",
               .categories = {},
               .series = {{"p50", {}, {}}, {"p90", {}, {}}, {"p99", {}, {}}}};
  for (size_t i = 0; i < runs.size(); ++i) {
    const RunTotals& totals = figures[i].totals;
    const auto x = static_cast<double>(runs[i].record.concurrency);
    for (Plot* plot : {&speed, &latency})
      for (PlotSeries& series : plot->series)
        series.x.push_back(x);
    speed.series[0].y.push_back(static_cast<double>(totals.output_tokens) / figures[i].seconds);
    speed.series[1].y.push_back(static_cast<double>(totals.prompt_tokens - totals.reused_tokens) /
                                figures[i].seconds);
    latency.series[0].y.push_back(figures[i].gap.p50 * 1e3);
    latency.series[1].y.push_back(figures[i].gap.p90 * 1e3);
    latency.series[2].y.push_back(figures[i].gap.p99 * 1e3);
  }
  const bool is_curve = std::ranges::adjacent_find(runs, [](const NamedRun& a, const NamedRun& b) {
                          return a.record.concurrency >= b.record.concurrency;
                        }) == runs.end();
  if (is_curve) return {speed, latency};
  Plot bars = speed;
  bars.kind = Plot::Kind::kBars;
  bars.x_label = "tokens/s";
  for (const NamedRun& run : runs)
    bars.categories.push_back(run.name);
  return {bars};
}

}  // namespace

Json workload_json(const WorkloadOptions& options) {
  return {{"name", std::string(to_string(options.kind))},
          {"input_len", options.input.to_string()},
          {"output_len", options.output.to_string()},
          {"shared_prefix", options.shared_prefix},
          {"prefix_fraction", options.prefix_fraction},
          {"users", options.users},
          {"turns", options.turns},
          {"seed", options.seed}};
}

RunTotals totals_of(const RunRecord& record) {
  RunTotals totals;
  for (const RequestRecord& request : record.requests) {
    totals.prompt_tokens += request.prompt_tokens;
    totals.reused_tokens += request.reused_tokens;
    totals.reusable_tokens += request.reusable_tokens;
    totals.reused_of_reusable += std::min(request.reused_tokens, request.reusable_tokens);
    totals.output_tokens += request.output_tokens;
  }
  return totals;
}

BenchReport throughput_report(const std::vector<NamedRun>& runs) {
  std::vector<RunFigures> figures;
  Json objects = Json::array();
  for (const NamedRun& run : runs) {
    figures.push_back(run_figures(run.record));
    objects.push_back(run_json(run, figures.back()));
  }
  BenchReport report;
  report.title = "ingot bench throughput";
  report.tables.push_back(table_of(runs, figures));
  report.plots = plots_of(runs, figures);
  report.json.emplace_back("runs", std::move(objects));
  return report;
}

}  // namespace ingot
