// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "bench/report.h"

namespace ingot {
namespace {

TextTable read_table(const MachinePeaks& peaks) {
  TextTable table;
  table.title = "Read bandwidth, GB/s";
  table.columns = {"threads", "huge pages", "small pages"};
  for (const ReadCeiling& read : peaks.reads) {
    table.rows.push_back({fmt::format("{}", read.threads),
                          fmt::format("{:.1f}", read.huge_pages * 1e-9),
                          fmt::format("{:.1f}", read.small_pages * 1e-9)});
  }
  return table;
}

TextTable op_table(const MachinePeaks& peaks) {
  TextTable table;
  table.title = "Multiplies and adds, GOP/s";
  table.columns = {"operation", "target", "1 thread",
                   fmt::format("{} threads", peaks.reads.empty() ? 0 : peaks.reads.back().threads)};
  for (const OpCeiling& op : peaks.ops) {
    table.rows.push_back({op.name, std::string(to_string(op.target)),
                          fmt::format("{:.0f}", op.one_thread * 1e-9),
                          fmt::format("{:.0f}", op.all_threads * 1e-9)});
  }
  return table;
}

constexpr const char* kTitle = "ingot bench kernels";

}  // namespace

BenchReport device_report(const MachinePeaks& peaks) {
  BenchReport report;
  report.title = kTitle;
  TextTable table;
  table.title = "At most";
  table.columns = {"what", "speed"};
  TextTable reached;
  reached.title = "Reached";
  reached.columns = table.columns;
  const auto row_of = [](TextTable& to, const char* what, double speed, double unit,
                         const char* unit_name) {
    to.rows.push_back(
        {what, speed > 0 ? fmt::format("{:.1f} {}", speed / unit, unit_name) : "not known"});
  };
  const auto row = [&](const char* what, double speed, double unit, const char* unit_name) {
    row_of(table, what, speed, unit, unit_name);
  };
  row("reading memory", peaks.read_bytes_per_s, 1e9, "GB/s");
  row("matrix products, bf16", peaks.float_flops_per_s, 1e12, "TFLOP/s");
  row("matrix products, fp8", peaks.fp8_flops_per_s, 1e12, "TFLOP/s");
  row("matrix products, int8", peaks.int8_ops_per_s, 1e12, "TOP/s");
  row_of(reached, "attention over a prompt, bf16", peaks.attention_flops_per_s, 1e12, "TFLOP/s");
  report.tables.push_back(std::move(table));
  report.tables.push_back(std::move(reached));
  report.notes.emplace_back(
      "reading: 2 GiB; products: 8192 x 8192 x 8192 through cuBLASLt; attention: 8192 positions, "
      "32 "
      "heads of 128 over 8, each row over those before it; the best of ten runs");
  return report;
}

BenchReport kernel_report(const std::vector<KernelRecord>& records, const MachinePeaks& peaks) {
  BenchReport report;
  report.title = kTitle;
  report.tables = {read_table(peaks), op_table(peaks)};
  TextTable table;
  table.columns = {"kernel",    "work",    "us",        "spread %",  "GB/s",
                   "% of read", "GFLOP/s", "% of peak", "% of limit"};
  Plot plot{.kind = Plot::Kind::kBars,
            .title = "Share of what this machine can do",
            .x_label = "%",
            .y_label = "",
            .categories = {},
            .series = {{"of read bandwidth", {}, {}}, {"of multiply-add peak", {}, {}}}};
  Json objects = Json::array();
  for (const KernelRecord& record : records) {
    const double read = record.share_of_bandwidth(peaks);
    const double peak = record.share_of_peak(peaks);
    const double limit = record.share_of_limit(peaks);
    const bool has_bytes = record.bytes > 0;
    const bool has_ops = record.ops > 0;
    const auto shown = [](bool is_known, double value) {
      return is_known ? fmt::format("{:.1f}", value) : std::string("-");
    };
    table.rows.push_back({record.name, record.work, fmt::format("{:.1f}", record.seconds * 1e6),
                          fmt::format("{:.0f}", record.spread * 100),
                          shown(has_bytes, record.bytes_per_s() * 1e-9),
                          shown(has_bytes, read * 100), shown(has_ops, record.ops_per_s() * 1e-9),
                          shown(has_ops, peak * 100), shown(has_bytes || has_ops, limit * 100)});
    objects.push_back({{"kernel", record.name},
                       {"work", record.work},
                       {"seconds", record.seconds},
                       {"spread", record.spread},
                       {"gb_per_s", has_bytes ? Json(record.bytes_per_s() * 1e-9) : Json()},
                       {"share_of_read", has_bytes ? Json(read) : Json()},
                       {"gflop_per_s", has_ops ? Json(record.ops_per_s() * 1e-9) : Json()},
                       {"share_of_peak", has_ops ? Json(peak) : Json()},
                       {"share_of_limit", has_bytes || has_ops ? Json(limit) : Json()},
                       {"target", to_string(record.target)}});
    if (!has_bytes && !has_ops) continue;
    // Work that is bound by reading shows what it reads, all other what it computes.
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    plot.categories.push_back(fmt::format("{}, {}", record.name, record.work));
    plot.series[0].y.push_back(has_bytes ? read * 100 : kNone);
    plot.series[1].y.push_back(has_bytes ? kNone : peak * 100);
  }
  if (!records.empty()) {
    report.tables.push_back(std::move(table));
    report.notes.emplace_back(
        "% of peak is of the operations of the kernel's own kind and target; % of limit is the "
        "larger share, of what stops it first; all measured in this run");
  }
  if (!plot.categories.empty()) report.plots.push_back(std::move(plot));
  report.json.emplace_back("kernels", std::move(objects));
  return report;
}

}  // namespace ingot
