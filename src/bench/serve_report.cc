// SPDX-License-Identifier: Apache-2.0
#include "bench/serve_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "bench/spread.h"

namespace ingot {
namespace {

constexpr size_t kMostErrors = 5;  // that are told of each server

using Figures = std::vector<ServeFigures>;

// One line of the table: a number of each server, and how the first stands to the others.
class Rows {
 public:
  Rows(TextTable& table, const Figures& figures) : table_(table), figures_(figures) {}

  using Number = std::function<double(const ServeFigures&)>;
  // Not a number: "-".
  void add(std::string name, int digits, const Number& number, bool has_ratio = true) {
    std::vector<std::string> row = {std::move(name)};
    std::vector<double> values;
    for (const ServeFigures& figures : figures_) {
      values.push_back(number(figures));
      row.push_back(std::isfinite(values.back()) ? fmt::format("{:.{}f}", values.back(), digits)
                                                 : "-");
    }
    for (size_t i = 1; i < values.size(); ++i) {
      const double ratio = values[0] / values[i];
      row.push_back(has_ratio && std::isfinite(ratio) ? fmt::format("{:.2f}", ratio) : "");
    }
    table_.rows.push_back(std::move(row));
  }

 private:
  TextTable& table_;
  const Figures& figures_;
};

void add_latencies(Rows& rows, const ServeReportOptions& options) {
  for (const ServeLatencyName& latency : kServeLatencies) {
    const auto values = [&latency](const ServeFigures& f) -> const std::vector<double>& {
      return f.ms.*(latency.values);
    };
    const double nothing = std::nan("");
    rows.add(fmt::format("{}, mean ms", latency.words), 1, [&](const ServeFigures& f) {
      return values(f).empty() ? nothing : mean_of(values(f));
    });
    for (const double p : options.percentiles) {
      rows.add(fmt::format("{}, p{:g} ms", latency.words, p), 1, [&](const ServeFigures& f) {
        return values(f).empty() ? nothing : percentile(values(f), p / 100);
      });
    }
  }
}

TextTable table_of(const ServeResult& result, const Figures& figures,
                   const ServeReportOptions& options) {
  TextTable table;
  table.columns.emplace_back("");
  for (const ServerResult& server : result.servers)
    table.columns.push_back(server.target.name);
  for (size_t i = 1; i < result.servers.size(); ++i)
    table.columns.push_back(
        fmt::format("{} / {}", result.servers[0].target.name, result.servers[i].target.name));
  Rows rows(table, figures);
  const double nothing = std::nan("");
  const auto count = [](int64_t value) { return static_cast<double>(value); };
  using F = const ServeFigures&;
  rows.add(
      "requests answered", 0, [&](F f) { return count(f.ok); }, false);
  rows.add(
      "requests refused (429)", 0, [&](F f) { return count(f.refused); }, false);
  rows.add(
      "requests failed", 0, [&](F f) { return count(f.failed); }, false);
  rows.add("seconds", 2, [](F f) { return f.seconds; });
  rows.add(
      "in flight, mean", 1, [](F f) { return f.mean_in_flight; }, false);
  rows.add(
      "in flight, most", 0, [&](F f) { return count(f.peak_in_flight); }, false);
  rows.add("requests/s", 2, [](F f) { return f.per_second(f.ok); });
  rows.add("prompt tokens", 0, [&](F f) { return count(f.prompt_tokens); });
  rows.add("prompt tokens processed", 0,
           [&](F f) { return f.processed_tokens() ? count(*f.processed_tokens()) : nothing; });
  rows.add("prompt tokens/s", 2, [](F f) { return f.per_second(f.prompt_tokens); });
  rows.add("output tokens/s", 2, [](F f) { return f.per_second(f.output_tokens); });
  rows.add("all tokens/s", 2, [](F f) { return f.per_second(f.prompt_tokens + f.output_tokens); });
  add_latencies(rows, options);
  if (!options.slo.is_empty()) {
    rows.add("goodput, requests/s", 2, [](F f) { return f.per_second(f.good); });
    rows.add("goodput, % of requests", 1,
             [&](F f) { return 100 * share(count(f.good), count(f.requests())); });
  }
  const auto has_refusals = [](F f) { return f.refused > 0; };
  if (std::ranges::any_of(figures, has_refusals)) {
    rows.add("refusal, slowest ms", 1,
             [&](F f) { return f.refused > 0 ? f.ms.refusal.back() : nothing; });
  }
  rows.add(
      "load generator, % of a core", 1, [](F f) { return 100 * f.own_cpu; }, false);
  return table;
}

// The speed of each round by itself: how much of a difference is the machine's mood.
void add_rounds(const ServeResult& result, BenchReport& report) {
  size_t rounds = result.servers[0].rounds.size();
  for (const ServerResult& server : result.servers)
    rounds = std::min(rounds, server.rounds.size());
  if (rounds < 2) return;
  TextTable table;
  table.title = "output tokens/s of each round";
  table.columns = report.tables[0].columns;
  std::vector<std::vector<double>> ratios(result.servers.size());
  for (size_t i = 0; i < rounds; ++i) {
    std::vector<std::string> row = {fmt::format("round {}", i + 1)};
    std::vector<double> speeds;
    for (const ServerResult& server : result.servers) {
      const ServeFigures figures = figures_of({&server.rounds[i], 1}, {});
      speeds.push_back(figures.per_second(figures.output_tokens));
      row.push_back(fmt::format("{:.2f}", speeds.back()));
    }
    for (size_t s = 1; s < speeds.size(); ++s) {
      ratios[s].push_back(share(speeds[0], speeds[s]));
      row.push_back(fmt::format("{:.2f}", ratios[s].back()));
    }
    table.rows.push_back(std::move(row));
  }
  report.tables.push_back(std::move(table));
  Json medians = Json::object();
  for (size_t s = 1; s < ratios.size(); ++s) {
    const Spread spread = spread_of(ratios[s]);
    const std::string name = report.tables[0].columns[1 + ratios.size() + s - 1];
    report.notes.push_back(
        fmt::format("{}: output tokens/s {:.2f} times, median of {} rounds ({:.2f} to {:.2f})",
                    name, spread.p50, rounds, spread.smallest, spread.largest));
    medians[result.servers[s].target.name] = {
        {"median", spread.p50}, {"min", spread.smallest}, {"max", spread.largest}};
  }
  if (ratios.size() > 1) report.json.emplace_back("output_tokens_per_s_ratio", std::move(medians));
}

// More of the prompts was cached than they have in common: the server knew them. Never of a chat,
// which repeats itself.
bool knew_the_prompts(const WorkloadOptions& workload, const ServeFigures& figures) {
  if (workload.kind == WorkloadKind::kChat || !figures.cached_tokens) return false;
  const double common = static_cast<double>(figures.ok * workload.shared_prefix);
  return static_cast<double>(*figures.cached_tokens) >
         common + 0.05 * static_cast<double>(figures.prompt_tokens);
}

void add_notes(const ServerResult& server, const ServeFigures& figures,
               const WorkloadOptions& workload, bool has_name, std::vector<std::string>& notes) {
  const std::string name = has_name ? server.target.name + ": " : "";
  for (const std::string& note : server.notes)
    notes.push_back(name + note);
  if (std::ranges::any_of(server.rounds, [](const ServeRun& run) { return run.was_stopped; }))
    notes.push_back(name + "stopped early: these are the requests that had ended");
  if (figures.unsent > 0)
    notes.push_back(
        fmt::format("{}{} requests were not sent or not finished", name, figures.unsent));
  if (figures.other_length > 0) {
    notes.push_back(fmt::format("{}{} of {} answers were not as long as asked: {} tokens in all",
                                name, figures.other_length, figures.ok, figures.output_tokens));
  }
  if (figures.uncounted > 0) {
    notes.push_back(fmt::format("{}{} answers came without usage: parts of text count as tokens",
                                name, figures.uncounted));
  }
  if (figures.uncounted < figures.ok && figures.chunks != figures.output_tokens) {
    notes.push_back(fmt::format("{}{} tokens came in {} parts: inter-token is between parts", name,
                                figures.output_tokens, figures.chunks));
  }
  if (figures.retry_after)
    notes.push_back(
        fmt::format("{}asks to retry after {:g} s at most", name, *figures.retry_after));
  if (knew_the_prompts(workload, figures))
    notes.push_back(name + "these prompts were cached before: give another --seed");
  size_t told = 0;
  for (const auto& [error, times] : figures.errors) {
    if (told++ == kMostErrors) {
      notes.push_back(
          fmt::format("{}... and {} other errors", name, figures.errors.size() - kMostErrors));
      break;
    }
    notes.push_back(fmt::format("{}{} x {}", name, times, error));
  }
}

}  // namespace

Result<std::vector<double>> parse_percentiles(std::string_view text) {
  std::vector<double> values;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    double value = 0;
    const auto [stop, problem] = std::from_chars(text.data() + begin, text.data() + end, value);
    if (problem != std::errc() || stop != text.data() + end || !(value >= 0 && value <= 100)) {
      return Status::invalid_argument("--percentiles: '{}' is not a number from 0 to 100",
                                      text.substr(begin, end - begin));
    }
    values.push_back(value);
    begin = end + 1;
  }
  return values;
}

BenchReport serve_report(const ServeResult& result, const ServeReportOptions& options) {
  Figures figures;
  for (const ServerResult& server : result.servers)
    figures.push_back(figures_of(server.rounds, options.slo));
  BenchReport report;
  report.title = "ingot bench serve";
  report.tables.push_back(table_of(result, figures, options));
  const WorkloadOptions& workload = result.workload;
  report.tables[0].title =
      fmt::format("workload {}: own text {}, answers {}, shared prefix {}; {}",
                  to_string(workload.kind), workload.input.to_string(), workload.output.to_string(),
                  workload.shared_prefix, result.endpoint);
  report.json.emplace_back("endpoint", result.endpoint);
  report.json.emplace_back("workload", workload_json(workload));
  report.json.emplace_back("servers", servers_json(result, figures, options));
  add_rounds(result, report);
  for (size_t i = 0; i < figures.size(); ++i)
    add_notes(result.servers[i], figures[i], workload, figures.size() > 1, report.notes);
  report.plots = serve_plots(result, figures);
  return report;
}

}  // namespace ingot
