// SPDX-License-Identifier: Apache-2.0
// What the engine knows of itself, since its start and right now: for /metrics, benchmarks and the
// numbers at the end of a run. A value; whoever gets one may keep it.
#pragma once

#include <chrono>
#include <cstdint>

#include "engine/fixed_histogram.h"
#include "engine/prefix_tree.h"
#include "engine/scheduler.h"

namespace ingot {

// Where the time of steps went, in seconds.
struct StepTimes {
  double plan = 0;
  double forward = 0;
  double sample = 0;  // and telling the sinks
};

struct EngineStats {
  SchedulerStats scheduler;  // sequences, pages, preemptions, prompt tokens
  PrefixStats prefixes;      // asked for, found, and where, in tokens

  int64_t steps = 0;             // forward passes that succeeded
  int64_t steps_ahead = 0;       // of these, begun before the tokens of the one before were known
  int64_t failed_steps = 0;      // and those that did not
  int64_t computed_tokens = 0;   // rows of all forward passes
  int64_t generated_tokens = 0;  // sampled
  FixedHistogram step_tokens{.bounds = kStepTokenBounds};
  FixedHistogram step_seconds{.bounds = kStepSecondBounds};  // plan, forward pass and sampling
  double last_step_seconds = 0;
  std::chrono::steady_clock::time_point last_step_end;  // the epoch before the first
  StepTimes times;

  int64_t requests = 0;           // submitted and not ended: those that nobody looked at yet too
  int64_t finished_requests = 0;  // ended, well or not; of these:
  int64_t cancelled_requests = 0;
  int64_t expired_requests = 0;    // past their deadline
  int64_t failed_requests = 0;     // with an error; of these:
  int64_t corrupted_requests = 0;  // the model computed something that is no number

  double waste = 0;  // of the pages that running sequences own, right now
  double kv_usage =
      0;  // in [0, 1]: pages in use, not free and not just cached; the fullest group's
};

}  // namespace ingot
