// SPDX-License-Identifier: Apache-2.0
// How fast each kernel is, beside what the machine can do. Linears: GB/s of weights for one token
// (from matrices larger than any cache) and GFLOP/s, two per weight and token, for a prompt of 512.
// Attention: GB/s of keys and values for one row of many sequences, GFLOP/s for a prompt. Barrier:
// what it costs to start all threads and to wait for them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/machine.h"
#include "kernels/exec.h"

namespace ingot {

struct KernelRecord {
  std::string name;      // as in the kernel's list
  std::string work;      // "1 x 8192 x 2048", "512 rows at 4096": what one call does
  double seconds = 0;    // of one call, the median
  double spread = 0;     // (slowest - fastest) / median of the middle half
  double bytes = 0;      // read from memory by one call; 0: from caches, not compared
  double ops = 0;        // multiplies and adds of one call; 0: not compared
  bool is_float = true;  // ops are of floats, else of `kind`
  OpKind kind = OpKind::kInt8;
  Target target = Target::kScalar;  // whose ceiling its ops are compared with

  double bytes_per_s() const { return bytes / seconds; }
  double ops_per_s() const { return ops / seconds; }
  // Of what the machine can; 0 where it was not measured.
  double share_of_bandwidth(const MachinePeaks& peaks) const;
  double share_of_peak(const MachinePeaks& peaks) const;
  // The larger: how near it is to the first thing that stops it.
  double share_of_limit(const MachinePeaks& peaks) const;
};

struct KernelBenchOptions {
  std::string part;       // only kernels with this in their names; empty: all but the scalar ones
  bool is_quick = false;  // small matrices and few repetitions: does it run, not how fast
  std::function<void(double fraction, std::string_view name)> progress;  // may be empty
};

std::vector<KernelRecord> bench_kernels(const Exec& exec, const KernelBenchOptions& options);

}  // namespace ingot
