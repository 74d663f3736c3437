// SPDX-License-Identifier: Apache-2.0
// What each benchmark found, ready for people (tables, notes), scripts (JSON) and eyes (plots).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "bench/kernel_bench.h"
#include "bench/latency.h"
#include "bench/run_workload.h"
#include "bench/stall.h"
#include "bench/svg_plot.h"
#include "bench/text_table.h"

namespace ingot {

struct BenchReport {
  std::string title;
  std::vector<TextTable> tables;
  std::vector<std::string> notes;  // a line each, below the tables
  std::vector<Plot> plots;
  std::vector<std::pair<std::string, Json>> json;  // fields of the one object
};

// What was asked, as every report of a workload has it.
Json workload_json(const WorkloadOptions& options);

// Where the parts of a run of requests come together. `name` heads its column.
struct NamedRun {
  std::string name;
  RunRecord record;
};
// Runs that differ in concurrency alone are plotted over it.
BenchReport throughput_report(const std::vector<NamedRun>& runs);

struct NamedStall {
  std::string name;
  StallRecord record;
};
BenchReport stall_report(const std::vector<NamedStall>& runs);

BenchReport latency_report(const std::vector<LatencyRecord>& records, const MachinePeaks& peaks);
// What a GPU can do, no kernel.
BenchReport device_report(const MachinePeaks& peaks);
BenchReport kernel_report(const std::vector<KernelRecord>& records, const MachinePeaks& peaks);

// Sums over a run's requests.
struct RunTotals {
  int64_t prompt_tokens = 0;
  int64_t reused_tokens = 0;
  int64_t reusable_tokens = 0;
  int64_t reused_of_reusable = 0;  // per request at most what was reusable
  int64_t output_tokens = 0;
};
RunTotals totals_of(const RunRecord& record);

}  // namespace ingot
