// SPDX-License-Identifier: Apache-2.0
#include "base/numa.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "base/check.h"
#include "base/cpu_limits.h"

namespace ingot {

Result<NumaMode> parse_numa_mode(std::string_view text) {
  if (text == "auto") return NumaMode::kAuto;
  if (text == "off") return NumaMode::kOff;
  return Status::invalid_argument("--numa is '{}' but must be auto or off", text);
}

std::vector<NumaNode> numa_nodes(const std::vector<int>& cpus, const std::filesystem::path& root) {
  std::vector<NumaNode> nodes;
  std::error_code problem;
  const std::filesystem::path folder = root / "sys/devices/system/node";
  for (std::filesystem::directory_iterator at(folder, problem), end; !problem && at != end;
       at.increment(problem)) {
    const std::string name = at->path().filename().string();
    if (!name.starts_with("node")) continue;
    const Result<std::vector<int>> id = parse_cpu_list(std::string_view(name).substr(4));
    if (!id.is_ok() || id->size() != 1) continue;
    std::ifstream file(at->path() / "cpulist");
    std::string text;
    std::getline(file, text);
    const Result<std::vector<int>> all = parse_cpu_list(text);
    if (!all.is_ok()) continue;
    NumaNode node{id->front(), {}};
    std::ranges::set_intersection(*all, cpus, std::back_inserter(node.cpus));
    if (!node.cpus.empty()) nodes.push_back(std::move(node));
  }
  std::ranges::sort(nodes, {}, &NumaNode::id);
  if (nodes.size() < 2) nodes.clear();
  return nodes;
}

std::vector<size_t> place_threads(int threads, const std::vector<NumaNode>& nodes) {
  INGOT_CHECK(!nodes.empty());
  std::vector<size_t> node_of_cpu;
  for (size_t node = 0; node < nodes.size(); ++node)
    node_of_cpu.insert(node_of_cpu.end(), nodes[node].cpus.size(), node);
  std::vector<size_t> placed;
  for (int i = 0; i < threads; ++i) {
    placed.push_back(
        node_of_cpu[static_cast<size_t>(i) * node_of_cpu.size() / static_cast<size_t>(threads)]);
  }
  return placed;
}

void pin_this_thread(const std::vector<int>& cpus) {
  if (cpus.empty()) return;
  const auto room = static_cast<size_t>(std::ranges::max(cpus)) + 1;
  cpu_set_t* set = CPU_ALLOC(room);
  if (set == nullptr) return;
  const size_t size = CPU_ALLOC_SIZE(room);
  CPU_ZERO_S(size, set);
  for (const int cpu : cpus)
    CPU_SET_S(static_cast<size_t>(cpu), size, set);
  static_cast<void>(sched_setaffinity(0, size, set));
  CPU_FREE(set);
}

}  // namespace ingot
