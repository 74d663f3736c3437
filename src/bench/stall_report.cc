// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "bench/report.h"

namespace ingot {
namespace {

Json gaps_json(const Spread& spread) {
  return {{"p50", spread.p50}, {"p99", spread.p99}, {"max", spread.largest}};
}

}  // namespace

BenchReport stall_report(const std::vector<NamedStall>& runs) {
  BenchReport report;
  report.title = "ingot bench throughput --workload stall";
  TextTable table;
  table.columns = {""};
  Plot plot{.kind = Plot::Kind::kBars,
            .title = "Time to the next token while a long prompt is computed",
            .x_label = "ms",
            .y_label = "",
            .categories = {},
            .series = {{"p50", {}, {}}, {"p99", {}, {}}, {"longest", {}, {}}}};
  Json objects = Json::array();
  for (const NamedStall& run : runs) {
    const StallRecord& record = run.record;
    table.columns.push_back(run.name);
    plot.categories.push_back(run.name);
    plot.series[0].y.push_back(record.gaps.p50 * 1e3);
    plot.series[1].y.push_back(record.gaps.p99 * 1e3);
    plot.series[2].y.push_back(record.gaps.largest * 1e3);
    objects.push_back({{"name", run.name},
                       {"tokens_per_step", record.tokens_per_step},
                       {"inter_token_seconds", gaps_json(record.gaps)},
                       {"quiet_inter_token_seconds", gaps_json(record.quiet_gaps)},
                       {"chunk_seconds", gaps_json(record.chunks)},
                       {"chunks", record.chunk_count},
                       {"first_token_seconds", record.first_token_seconds}});
  }
  const auto row = [&](const char* name, auto&& value) {
    std::vector<std::string>& cells = table.rows.emplace_back();
    cells.emplace_back(name);
    for (const NamedStall& run : runs)
      cells.push_back(value(run.record));
  };
  using Record = const StallRecord&;
  const auto ms = [](double seconds) { return fmt::format("{:.1f}", seconds * 1e3); };
  row("tokens in a step, at most", [](Record r) { return fmt::format("{}", r.tokens_per_step); });
  row("inter-token before the prompt, p50 ms", [&](Record r) { return ms(r.quiet_gaps.p50); });
  row("inter-token, p50 ms", [&](Record r) { return ms(r.gaps.p50); });
  row("inter-token, p99 ms", [&](Record r) { return ms(r.gaps.p99); });
  row("inter-token, longest ms", [&](Record r) { return ms(r.gaps.largest); });
  row("one chunk, p50 ms", [&](Record r) { return ms(r.chunks.p50); });
  row("one chunk, longest ms", [&](Record r) { return ms(r.chunks.largest); });
  row("chunks of the prompt", [](Record r) { return fmt::format("{}", r.chunk_count); });
  row("longest inter-token / longest chunk", [](Record r) {
    return fmt::format("{:.3f}", r.chunks.largest > 0 ? r.gaps.largest / r.chunks.largest : 0);
  });
  row("first token of the long prompt, ms", [&](Record r) { return ms(r.first_token_seconds); });
  report.tables.push_back(std::move(table));
  report.plots.push_back(std::move(plot));
  report.json.emplace_back("runs", std::move(objects));
  return report;
}

}  // namespace ingot
