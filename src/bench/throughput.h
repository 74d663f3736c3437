// SPDX-License-Identifier: Apache-2.0
// The throughput benchmark as a whole: which runs a workload needs, each on a fresh engine so that
// none finds what another left in the cache, and what they say together.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "api/loaded_model.h"
#include "base/status.h"
#include "bench/report.h"
#include "ingot/engine.h"

namespace ingot {

struct ThroughputSetup {
  EngineFlags engine;      // context 0: what the workload needs
  bool has_seats = false;  // engine.max_num_seqs was asked for; else as many as are in flight
  SamplingParams sampling;
  // Told what runs and how far it is; may be empty.
  std::function<void(std::string_view name, double fraction)> progress;
};

// Each concurrency in turn; a kSharedPrefix workload with prefix caching and without.
Result<BenchReport> bench_throughput(const LoadedModel& model, const ThroughputSetup& setup,
                                     const WorkloadOptions& workload,
                                     const std::vector<int64_t>& concurrencies);
// In chunks of engine.max_num_batched_tokens, then at once.
Result<BenchReport> bench_stall(const LoadedModel& model, const ThroughputSetup& setup,
                                StallOptions options);

}  // namespace ingot
