// SPDX-License-Identifier: Apache-2.0
// What this machine can do at most, measured: the numbers that every speed is compared with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <vector>

#include "base/json.h"
#include "kernels/exec.h"

namespace ingot {

struct MachinePeaks {
  double read_bytes_per_s = 0;   // of memory, all threads of the Exec
  double float_flops_per_s = 0;  // multiply-adds of floats, two operations each
  double int8_ops_per_s = 0;     // multiply-adds of bytes into 32 bits, two operations each
};

// The best of several runs of each. Takes about a second; needs 512 MiB for that time, fewer where
// they cannot be had.
MachinePeaks measure_machine(const Exec& exec);

// The processor, threads and peaks for a report.
Json machine_json(const Exec& exec, const MachinePeaks& peaks);

// One thread is timed by the processor's clock, which other programs cannot slow down; several only
// by the wall's.
inline double bench_seconds(const Exec& exec) {
  timespec time{};
  clock_gettime(exec.threads() == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Seconds of each of `repeats` calls, after one to warm up.
template <class Function>
std::vector<double> time_calls(const Exec& exec, int repeats, Function&& function) {
  function();
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i) {
    const double start = bench_seconds(exec);
    function();
    seconds.push_back(bench_seconds(exec) - start);
  }
  return seconds;
}

}  // namespace ingot
