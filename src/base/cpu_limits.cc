// SPDX-License-Identifier: Apache-2.0
#include "base/cpu_limits.h"

#include <fmt/core.h>
#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <optional>
#include <string>

#include "base/cgroup.h"

namespace ingot {
namespace {

constexpr int kMostCpus = 1 << 16;

// One number of a list; none when it is not one, or no processor's.
std::optional<int> read_number(std::string_view text) {
  int value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (value < 0 || value >= kMostCpus) return std::nullopt;
  return value;
}

// "max 100000" or "200000 100000"; nothing when there is no quota.
std::optional<double> quota_of_v2(const std::filesystem::path& folder) {
  std::ifstream file(folder / "cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return std::nullopt;
  return std::atof(quota.c_str()) / period;
}

std::optional<double> quota_of_v1(const std::filesystem::path& folder) {
  double quota = -1;
  double period = 0;
  std::ifstream(folder / "cpu.cfs_quota_us") >> quota;
  std::ifstream(folder / "cpu.cfs_period_us") >> period;
  if (quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

}  // namespace

Result<std::vector<int>> parse_cpu_list(std::string_view text) {
  std::vector<int> cpus;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
    text.remove_suffix(1);
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    const size_t dash = std::min(part.find('-'), part.size());
    const std::optional<int> first = read_number(part.substr(0, dash));
    const std::optional<int> last =
        dash == part.size() ? first : read_number(part.substr(dash + 1));
    if (!first || !last || *last < *first)
      return Status::invalid_argument("'{}' is no list of processors such as 0-3,8", part);
    for (int cpu = *first; cpu <= *last; ++cpu)
      cpus.push_back(cpu);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  std::ranges::sort(cpus);
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

std::vector<int> affinity_cpus() {
  std::vector<int> cpus;
  // The kernel wants room for all processors it could have; machines with more than 1024 say so.
  for (int room = CPU_SETSIZE; room <= kMostCpus; room *= 2) {
    cpu_set_t* set = CPU_ALLOC(static_cast<size_t>(room));
    if (set == nullptr) return cpus;
    const size_t size = CPU_ALLOC_SIZE(static_cast<size_t>(room));
    const bool is_known = sched_getaffinity(0, size, set) == 0;
    for (int cpu = 0; is_known && cpu < room; ++cpu) {
      if (CPU_ISSET_S(static_cast<size_t>(cpu), size, set)) cpus.push_back(cpu);
    }
    CPU_FREE(set);
    if (is_known) return cpus;
  }
  return cpus;
}

std::vector<int> one_per_core(const std::vector<int>& cpus, const std::filesystem::path& root) {
  std::vector<int> firsts;
  for (const int cpu : cpus) {
    std::ifstream file(
        root / fmt::format("sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu));
    std::string text;
    std::getline(file, text);
    const Result<std::vector<int>> siblings = parse_cpu_list(text);
    int first = cpu;
    if (siblings.is_ok()) {
      for (const int sibling : *siblings) {
        if (std::ranges::binary_search(cpus, sibling)) first = std::min(first, sibling);
      }
    }
    if (first == cpu) firsts.push_back(cpu);
  }
  return firsts;
}

double cgroup_quota(const std::filesystem::path& root) {
  double least = 0;
  for (const CgroupFolder& folder : cgroup_folders(root, "cpu")) {
    const std::optional<double> quota =
        folder.is_v2 ? quota_of_v2(folder.path) : quota_of_v1(folder.path);
    if (quota) least = least > 0 ? std::min(least, *quota) : *quota;
  }
  return least;
}

int count_usable_cores(const std::vector<int>& cpus, const std::filesystem::path& root) {
  int cores = static_cast<int>(one_per_core(cpus, root).size());
  if (const double quota = cgroup_quota(root); quota > 0)
    cores = std::min(cores, static_cast<int>(std::ceil(quota)));
  return std::max(1, cores);
}

}  // namespace ingot
