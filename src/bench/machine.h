// SPDX-License-Identifier: Apache-2.0
// What this machine can do at most, measured: the numbers that every speed is compared with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "bench/page_buffer.h"
#include "bench/peak_loops.h"
#include "kernels/device.h"
#include "kernels/exec.h"
#include "kernels/target.h"

namespace ingot {

// Bytes a second that so many threads read from memory.
struct ReadCeiling {
  int threads = 0;
  double huge_pages = 0;  // 2 MiB, where the system gives them
  double small_pages = 0;
};

// Multiplies and adds a second.
struct OpCeiling {
  Target target = Target::kScalar;
  OpKind kind = OpKind::kFloat;
  std::string name;  // "int8 vpdpbusd"
  double one_thread = 0;
  double all_threads = 0;
};

struct MachinePeaks {
  double read_bytes_per_s = 0;       // of memory, all threads of the Exec
  double float_flops_per_s = 0;      // multiply-adds of floats, two operations each
  double int8_ops_per_s = 0;         // multiply-adds of bytes into 32 bits, two operations each
  double fp8_flops_per_s = 0;        // of a GPU; 0: not known
  double attention_flops_per_s = 0;  // what a GPU reaches of them over a prompt; 0: not known
  std::vector<ReadCeiling> reads;  // 1, 2, 4 ... threads; only the last where all was not asked for
  std::vector<OpCeiling> ops;

  // Of all threads; where the target has no such operation, of the best that it builds on; where it
  // builds on none (scalar code), the best there is. 0: unknown.
  double ops_per_s(Target target, OpKind kind) const;
};

enum class CeilingDetail : uint8_t {
  kPeaks,  // all threads only
  kAll,    // fewer threads too
  kQuick,  // all, but so small that the numbers mean nothing: for tests
};
// So much that a pass over it finds next to nothing of the pass before in the caches, of which
// those of AMD keep a part of what is read over and over: 160 MiB beside a cache of 32 were read 10
// % faster than memory is. A quarter of what is free at most.
size_t streamed_bytes();

// The best of several runs of each. Takes a second or two; needs streamed_bytes() for that time,
// fewer where they cannot be had.
MachinePeaks measure_machine(const Exec& exec, CeilingDetail detail = CeilingDetail::kPeaks);

// How fast memory is read just now. Where machines share a bus what it gives changes within
// seconds, so a share of it counts only against what it gave before and after.
class ReadProbe {
 public:
  explicit ReadProbe(const Exec& exec);
  // Of all threads: the median of a few passes, some hundredths of a second.
  double bytes_per_s() const;

 private:
  const Exec* exec_;
  PageBuffer buffer_;
};

// The same of a GPU: floats are its bf16.
Result<MachinePeaks> measure_device(Device& device);

// The processor, threads and peaks for a report.
Json machine_json(const Exec& exec, const MachinePeaks& peaks);
// The GPU and its.
Json device_json(const Device& device, const MachinePeaks& peaks);

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
