// SPDX-License-Identifier: Apache-2.0
// How much of the machine is ours: the affinity mask (which cpusets narrow too), the cgroup quota,
// and which of those processors share a core. Files are read below `root`, so that tests can lay
// out machines of their own; what is missing there means no limit.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace ingot {

// "0-3,8" as the kernel writes it; ascending.
Result<std::vector<int>> parse_cpu_list(std::string_view text);

// Processors that the calling thread may run on.
std::vector<int> affinity_cpus();

// One of every set of hardware threads that share a core: computing with both gains nothing where
// each keeps the core's units busy. All of them where the machine says nothing of siblings.
std::vector<int> one_per_core(const std::vector<int>& cpus, const std::filesystem::path& root);

// Cores' worth of time that the control groups (version 2 and 1) of this process and all around
// them allow; 0: no quota.
double cgroup_quota(const std::filesystem::path& root);

// What is left of all this, at least 1.
int count_usable_cores(const std::vector<int>& cpus, const std::filesystem::path& root);

}  // namespace ingot
