// SPDX-License-Identifier: Apache-2.0
// Runs a workload on the engine in a closed loop: so many requests in flight, the next one the
// moment one ends. The caller's thread is the engine thread, so that every step is seen.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/status.h"
#include "bench/workload.h"
#include "engine/engine_core.h"
#include "tokenizer/tokenizer.h"

namespace ingot {

struct RunOptions {
  int64_t concurrency = 8;                        // requests in flight, at most
  SamplingParams sampling;                        // of all requests; ends are ignored
  std::shared_ptr<const Tokenizer> tokenizer;     // may be null
  std::function<void(double fraction)> progress;  // may be empty
};

struct RequestRecord {
  int64_t prompt_tokens = 0;
  int64_t reused_tokens = 0;    // that the engine found
  int64_t reusable_tokens = 0;  // that earlier requests had computed when this one was submitted
  int64_t output_tokens = 0;
  double first_token_seconds = 0;  // since it was submitted
  std::vector<double> gaps;        // between its tokens, in seconds
};

struct RunRecord {
  int64_t concurrency = 0;
  double seconds = 0;
  std::vector<RequestRecord> requests;
  int64_t steps = 0;
  int64_t preemptions = 0;
  double mean_waste = 0;  // over steps that left something running
  double max_waste = 0;
  StepTimes times;
};

Result<RunRecord> run_workload(EngineCore& core, const Workload& workload,
                               const RunOptions& options);

}  // namespace ingot
