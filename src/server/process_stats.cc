// SPDX-License-Identifier: Apache-2.0
#include "server/process_stats.h"

#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace ingot {
namespace {

struct ProcStat {
  int64_t cpu_ticks = 0, start_ticks = 0, virtual_bytes = 0, resident_pages = 0;
};

std::string read_first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// /proc/self/stat; numbers count from 1, as in proc(5).
std::optional<ProcStat> read_stat() {
  const std::string line = read_first_line("/proc/self/stat");
  const size_t name_end = line.rfind(')');  // the second field may hold blanks and brackets
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(line.substr(name_end + 1));
  ProcStat stat;
  std::string field;
  for (int number = 3; fields >> field; ++number) {
    int64_t value = 0;
    std::from_chars(field.data(), field.data() + field.size(), value);
    if (number == 14 || number == 15) stat.cpu_ticks += value;
    if (number == 22) stat.start_ticks = value;
    if (number == 23) stat.virtual_bytes = value;
    if (number == 24) stat.resident_pages = value;
  }
  return stat;
}

std::optional<double> boot_time() {
  std::ifstream file("/proc/stat");
  std::string word;
  double seconds = 0;
  while (file >> word) {
    if (word == "btime" && file >> seconds) return seconds;
  }
  return std::nullopt;
}

int64_t count_descriptors() {
  std::error_code problem;
  int64_t count = 0;
  for (std::filesystem::directory_iterator it("/proc/self/fd", problem), end; !problem && it != end;
       it.increment(problem))
    ++count;
  return count;
}

}  // namespace

void write_process_stats(MetricText& out) {
  const auto ticks_per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
  if (const std::optional<ProcStat> stat = read_stat()) {
    out.family("process_cpu_seconds_total", MetricText::Type::kCounter,
               "Processor time of this process.");
    out.add("", static_cast<double>(stat->cpu_ticks) / ticks_per_second);
    out.gauge(
        "process_resident_memory_bytes", "Memory of this process that is resident.", "",
        static_cast<double>(stat->resident_pages) * static_cast<double>(::sysconf(_SC_PAGESIZE)));
    out.gauge("process_virtual_memory_bytes", "Memory of this process, mapped or resident.", "",
              static_cast<double>(stat->virtual_bytes));
    static const std::optional<double> kBoot = boot_time();
    if (kBoot) {
      out.gauge("process_start_time_seconds", "When this process began, in Unix time.", "",
                *kBoot + static_cast<double>(stat->start_ticks) / ticks_per_second);
    }
  }
  out.gauge("process_open_fds", "File descriptors in use.", "",
            static_cast<double>(count_descriptors()));
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    out.gauge("process_max_fds", "File descriptors this process may use.", "",
              static_cast<double>(limit.rlim_cur));
  }
}

}  // namespace ingot
