// SPDX-License-Identifier: Apache-2.0
// Which memory is near which processor, and which threads go where: on a machine with several nodes
// contiguous threads share a node, so that a thread's part of a weight can lie beside it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace ingot {

enum class NumaMode : uint8_t {
  kAuto,  // threads stay on their node where the process may use several
  kOff,   // the system puts them where it likes
};
Result<NumaMode> parse_numa_mode(std::string_view text);

struct NumaNode {
  int id = 0;
  std::vector<int> cpus;  // those we may use
};
// Nodes with any of `cpus`, by number; `root` as in cpu_limits.h. Empty where the machine says
// nothing or has one.
std::vector<NumaNode> numa_nodes(const std::vector<int>& cpus, const std::filesystem::path& root);

// For each of so many threads the index of its node: contiguous, in proportion to the processors.
std::vector<size_t> place_threads(int threads, const std::vector<NumaNode>& nodes);

// Keeps the calling thread on these processors; a system that refuses changes nothing.
void pin_this_thread(const std::vector<int>& cpus);

}  // namespace ingot
