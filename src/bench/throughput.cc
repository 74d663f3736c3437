// SPDX-License-Identifier: Apache-2.0
#include "bench/throughput.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/text_engine.h"

namespace ingot {
namespace {

Result<std::unique_ptr<EngineCore>> start(const LoadedModel& model, const ThroughputSetup& setup,
                                          EngineFlags flags, int64_t sequences) {
  if (!setup.has_seats) flags.max_num_seqs = sequences;
  INGOT_TRY(const EngineOptions options, engine_options(flags, *model.model));
  return EngineCore::create(model.model, options);
}

std::function<void(double)> progress_of(const ThroughputSetup& setup, const std::string& name) {
  if (!setup.progress) return {};
  return [&setup, name](double fraction) { setup.progress(name, fraction); };
}

void describe(const WorkloadOptions& options, BenchReport& report) {
  report.json.emplace_back("workload", workload_json(options));
  report.tables[0].title =
      fmt::format("workload {}: own text {}, answers {}, shared prefix {}", to_string(options.kind),
                  options.input.to_string(), options.output.to_string(), options.shared_prefix);
}

// Runs come in pairs: with prefix caching, without.
void compare(const std::vector<NamedRun>& runs, BenchReport& report) {
  Json ratios = Json::array();
  for (size_t i = 0; i + 1 < runs.size(); i += 2) {
    const double ratio = runs[i + 1].record.seconds / std::max(runs[i].record.seconds, 1e-9);
    ratios.push_back(ratio);
    report.notes.push_back(
        fmt::format("{}: {:.2f} times sooner than without prefix caching", runs[i].name, ratio));
  }
  report.json.emplace_back("speedup_by_prefix_caching", std::move(ratios));
}

}  // namespace

Result<BenchReport> bench_throughput(const LoadedModel& model, const ThroughputSetup& setup,
                                     const WorkloadOptions& workload,
                                     const std::vector<int64_t>& concurrencies) {
  const bool compares = workload.kind == WorkloadKind::kSharedPrefix;
  const Workload requests = make_workload(workload);
  EngineFlags flags = setup.engine;
  if (flags.context == 0) flags.context = requests.longest();
  std::vector<NamedRun> runs;
  for (const int64_t concurrency : concurrencies) {
    for (int i = 0; i < (compares ? 2 : 1); ++i) {
      NamedRun& run = runs.emplace_back();
      run.name = fmt::format("{} in flight", concurrency);
      if (compares) {
        flags.enable_prefix_caching = i == 0;
        run.name += i == 0 ? ", reuse" : ", no reuse";
      }
      INGOT_TRY(const std::unique_ptr<EngineCore> core, start(model, setup, flags, concurrency));
      const RunOptions options{.concurrency = concurrency,
                               .sampling = setup.sampling,
                               .tokenizer = model.text.tokenizer,
                               .progress = progress_of(setup, run.name)};
      INGOT_TRY(run.record, run_workload(*core, requests, options));
    }
  }
  BenchReport report = throughput_report(runs);
  describe(workload, report);
  if (compares) compare(runs, report);
  return report;
}

Result<BenchReport> bench_stall(const LoadedModel& model, const ThroughputSetup& setup,
                                StallOptions options) {
  options.sampling = setup.sampling;
  options.tokenizer = model.text.tokenizer;
  EngineFlags flags = setup.engine;
  if (flags.context == 0) flags.context = options.context();
  std::vector<NamedStall> runs;
  for (const char* name : {"in chunks", "at once"}) {
    const bool is_second = !runs.empty();
    if (is_second) flags.max_num_batched_tokens = options.long_prompt + options.sequences + 1;
    INGOT_TRY(const std::unique_ptr<EngineCore> core,
              start(model, setup, flags, options.sequences + 1));
    options.progress = progress_of(setup, name);
    INGOT_TRY(StallRecord record, run_stall(*core, options));
    runs.push_back({name, record});
  }
  BenchReport report = stall_report(runs);
  report.json.emplace_back("workload", Json{{"name", "stall"},
                                            {"sequences", options.sequences},
                                            {"long_prompt", options.long_prompt},
                                            {"seed", setup.sampling.seed}});
  return report;
}

}  // namespace ingot
