// SPDX-License-Identifier: Apache-2.0
// What a benchmark of a model ran on: machine, threads, kernels, model, cache type.
#pragma once

#include <string>

#include "api/loaded_model.h"
#include "bench/machine.h"
#include "cli/bench_output.h"
#include "kernels/paged_kv.h"

namespace ingot {

struct BenchSubject {
  const LoadedModel& model;
  const Exec& exec;
  const MachinePeaks& peaks;
  KvCacheType cache_type;
};
// What the model's speed is compared with: its GPU's peaks where all of it is there, else the
// processor's.
Result<MachinePeaks> measure_peaks(const Model& model, const Exec& exec);
BenchSetting setting_of(const BenchSubject& subject);

// --kv-cache-dtype, with "auto" decided.
Result<KvCacheType> cache_type_of(const std::string& name, const ModelSpec& spec);

}  // namespace ingot
