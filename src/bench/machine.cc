// SPDX-License-Identifier: Apache-2.0
#include "bench/machine.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/cpu.h"
#include "bench/machine_loops.h"

namespace ingot {
namespace {

constexpr size_t kBufferBytes = size_t{512} << 20;  // more than any last-level cache
constexpr size_t kLeastBytes = size_t{16} << 20;
constexpr int kRepeats = 5;
constexpr int64_t kRounds = 1'000'000;

struct Free {
  void operator()(uint64_t* memory) const { std::free(memory); }  // NOLINT: pairs with calloc
};

double best_of(const std::vector<double>& seconds) {
  return std::max(*std::ranges::min_element(seconds), 1e-9);
}

double measure_read_bandwidth(const Exec& exec) {
  size_t size = kBufferBytes;
  std::unique_ptr<uint64_t[], Free> buffer;
  while (size >= kLeastBytes) {
    buffer.reset(static_cast<uint64_t*>(std::calloc(size, 1)));  // NOLINT: may fail without a throw
    if (buffer != nullptr) break;
    size /= 2;
  }
  if (buffer == nullptr) return 0;
  const auto words = static_cast<int64_t>(size / sizeof(uint64_t));
  constexpr int64_t kGrain = 4096;
  exec.for_ranges(words, kGrain, [&](int64_t begin, int64_t end) {  // real pages, not zeros
    std::memset(buffer.get() + begin, 1, static_cast<size_t>(end - begin) * sizeof(uint64_t));
  });
  std::atomic<uint64_t> sink{0};
  const std::vector<double> seconds = time_calls(exec, kRepeats, [&] {
    exec.for_ranges(words, kGrain, [&](int64_t begin, int64_t end) {
      sink += read_all({buffer.get() + begin, static_cast<size_t>(end - begin)});
    });
  });
  return static_cast<double>(size) / best_of(seconds);
}

}  // namespace

MachinePeaks measure_machine(const Exec& exec) {
  MachinePeaks peaks;
  peaks.read_bytes_per_s = measure_read_bandwidth(exec);
  std::atomic<float> sink{0};
  for (const PeakLoop& loop : peak_loops()) {
    const std::vector<double> seconds = time_calls(exec, kRepeats, [&] {
      exec.for_ranges(exec.threads(), 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          sink = loop.run(kRounds);
      });
    });
    const double ops = loop.ops_per_round * static_cast<double>(kRounds) *
                       static_cast<double>(exec.threads()) / best_of(seconds);
    double& peak = loop.is_float ? peaks.float_flops_per_s : peaks.int8_ops_per_s;
    peak = std::max(peak, ops);
  }
  return peaks;
}

Json machine_json(const Exec& exec, const MachinePeaks& peaks) {
  return {{"cpu", describe_cpu()},
          {"threads", exec.threads()},
          {"read_gb_per_s", peaks.read_bytes_per_s * 1e-9},
          {"float_gflop_per_s", peaks.float_flops_per_s * 1e-9},
          {"int8_gop_per_s", peaks.int8_ops_per_s * 1e-9}};
}

}  // namespace ingot
