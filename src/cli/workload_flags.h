// SPDX-License-Identifier: Apache-2.0
// The flags that say what a benchmark asks an engine or a server.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "bench/workload.h"

namespace ingot {

// What is not given is as the workload wants it.
struct WorkloadFlags {
  std::string kind = "random";
  std::optional<int64_t> num_prompts, shared_prefix, users, turns;
  std::optional<double> prefix_fraction;
  std::string input_len, output_len;

  bool is_stall() const { return kind == "stall"; }
};

struct WorkloadFlagsFor {
  bool has_stall = true;  // --workload stall
};
void add_workload_flags(CLI::App& command, WorkloadFlags& flags,
                        const WorkloadFlagsFor& benchmark = {});
// Not of a stall.
Result<WorkloadOptions> workload_options(const WorkloadFlags& flags, uint64_t seed, int64_t vocab);

}  // namespace ingot
