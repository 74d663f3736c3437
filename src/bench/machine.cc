// SPDX-License-Identifier: Apache-2.0
#include "bench/machine.h"

#include <atomic>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/cpu.h"
#include "base/free_memory.h"
#include "bench/machine_loops.h"
#include "bench/spread.h"

namespace ingot {
namespace {

constexpr size_t kLeastBytes = size_t{16} << 20;
constexpr int64_t kPage = 4096;
constexpr int64_t kRounds = 1'000'000;

// How much work a measurement is.
struct Effort {
  size_t bytes = streamed_bytes();
  int64_t rounds = kRounds;
  int repeats = 5;
};
constexpr Effort kLittle{size_t{4} << 20, 1000, 1};

double best_of(const std::vector<double>& seconds) {
  return std::max(*std::ranges::min_element(seconds), 1e-9);
}

PageBuffer touched_buffer(const Exec& exec, size_t size, PageSize pages) {
  PageBuffer buffer(size, pages);
  while (buffer.bytes().empty() && size > kLeastBytes) {
    size /= 2;
    buffer = PageBuffer(size, pages);
  }
  const auto count = static_cast<int64_t>(buffer.bytes().size()) / kPage;
  exec.for_ranges(count, 1, [&](int64_t begin, int64_t end) {  // real pages, not zeros
    std::memset(buffer.bytes().data() + begin * kPage, 1,
                static_cast<size_t>((end - begin) * kPage));
  });
  return buffer;
}

std::vector<double> read_seconds(const Exec& exec, const PageBuffer& buffer, int repeats) {
  const std::span<const std::byte> bytes = buffer.bytes();
  const TargetSet targets = TargetSet::of_this_machine();
  std::atomic<int64_t> sink{0};
  return time_calls(exec, repeats, [&] {
    exec.for_ranges(static_cast<int64_t>(bytes.size()), kPage, [&](int64_t begin, int64_t end) {
      sink += read_all(targets,
                       bytes.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
    });
  });
}

double read_speed(const Exec& exec, const PageBuffer& buffer, int repeats) {
  const auto size = static_cast<double>(buffer.bytes().size());
  return size > 0 ? size / best_of(read_seconds(exec, buffer, repeats)) : 0;
}

// 1, 2, 4 ... and all.
std::vector<int> thread_counts(int all, CeilingDetail detail) {
  std::vector<int> counts;
  if (detail != CeilingDetail::kPeaks) {
    for (int threads = 1; threads < all; threads *= 2)
      counts.push_back(threads);
  }
  counts.push_back(all);
  return counts;
}

void measure_reads(const Exec& exec, const std::vector<int>& counts, const Effort& effort,
                   std::vector<ReadCeiling>& reads) {
  for (const int threads : counts)
    reads.push_back({threads, 0, 0});
  for (const PageSize pages : {PageSize::kHuge, PageSize::kSmall}) {
    const PageBuffer buffer = touched_buffer(exec, effort.bytes, pages);
    for (ReadCeiling& read : reads) {
      const ThreadPool::Step step = exec.with_threads(read.threads);
      (pages == PageSize::kHuge ? read.huge_pages : read.small_pages) =
          read_speed(exec, buffer, effort.repeats);
    }
  }
}

double op_speed(const Exec& exec, const PeakLoop& loop, const Effort& effort) {
  std::atomic<int64_t> sink{0};
  const std::vector<double> seconds = time_calls(exec, effort.repeats, [&] {
    exec.for_ranges(exec.threads(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        sink += loop.run(effort.rounds);
    });
  });
  return static_cast<double>(loop.ops_per_round) * static_cast<double>(effort.rounds) *
         static_cast<double>(exec.threads()) / best_of(seconds);
}

std::string_view to_string(OpKind kind) {
  constexpr std::string_view kNames[] = {"fp32", "int8", "int8 in 16 bits", "int16", "bf16"};
  return kNames[static_cast<size_t>(kind)];
}

}  // namespace

size_t streamed_bytes() {
  constexpr uint64_t kEnough = uint64_t{512} << 20;
  const uint64_t free = free_memory_bytes();
  return free == 0 ? kEnough : std::clamp<uint64_t>(free / 4, kLeastBytes, kEnough);
}

double MachinePeaks::ops_per_s(Target target, OpKind kind) const {
  double own = 0;
  double best = 0;
  for (const OpCeiling& op : ops) {  // targets in the order in which they build on each other
    if (op.kind != kind) continue;
    if (op.target <= target) own = op.all_threads;
    best = std::max(best, op.all_threads);
  }
  if (own > 0) return own;
  return best > 0 ? best : float_flops_per_s;
}

MachinePeaks measure_machine(const Exec& exec, CeilingDetail detail) {
  const Effort effort = detail == CeilingDetail::kQuick ? kLittle : Effort{};
  const int threads = exec.threads();
  MachinePeaks peaks;
  measure_reads(exec, thread_counts(threads, detail), effort, peaks.reads);
  peaks.read_bytes_per_s = std::max(peaks.reads.back().huge_pages, peaks.reads.back().small_pages);
  for (const auto& [target, loop] : peak_loops()) {
    OpCeiling& op = peaks.ops.emplace_back(OpCeiling{target, loop.kind, loop.name, 0, 0});
    {
      const ThreadPool::Step step = exec.with_threads(threads);
      op.all_threads = op_speed(exec, loop, effort);
    }
    if (detail != CeilingDetail::kPeaks) {
      const ThreadPool::Step step = exec.with_threads(1);
      op.one_thread = op_speed(exec, loop, effort);
    }
    double* best = op.kind == OpKind::kFloat  ? &peaks.float_flops_per_s
                   : op.kind == OpKind::kInt8 ? &peaks.int8_ops_per_s
                                              : nullptr;
    if (best != nullptr) *best = std::max(*best, op.all_threads);
  }
  const ThreadPool::Step step = exec.with_threads(threads);  // as it was
  return peaks;
}

ReadProbe::ReadProbe(const Exec& exec)
    : exec_(&exec), buffer_(touched_buffer(exec, streamed_bytes(), PageSize::kHuge)) {}

double ReadProbe::bytes_per_s() const {
  constexpr int kPasses = 5;
  const auto size = static_cast<double>(buffer_.bytes().size());
  if (size == 0) return 0;
  const ThreadPool::Step step = exec_->with_threads(exec_->threads());
  return size / std::max(spread_of(read_seconds(*exec_, buffer_, kPasses)).p50, 1e-9);
}

Result<MachinePeaks> measure_device(Device& device) {
  INGOT_TRY(const DeviceCeilings ceilings, device.measure_ceilings());
  MachinePeaks peaks;
  peaks.read_bytes_per_s = ceilings.read_bytes_per_s;
  peaks.float_flops_per_s = ceilings.bf16_flops_per_s;
  peaks.fp8_flops_per_s = ceilings.fp8_flops_per_s;
  peaks.int8_ops_per_s = ceilings.int8_ops_per_s;
  peaks.attention_flops_per_s = ceilings.attention_flops_per_s;
  return peaks;
}

Json device_json(const Device& device, const MachinePeaks& peaks) {
  const auto known = [](double speed) { return speed > 0 ? Json(speed * 1e-9) : Json(); };
  return {{"gpu", device.info().name},
          {"generation", device.info().generation},
          {"memory_bytes", device.info().memory_bytes},
          {"read_gb_per_s", known(peaks.read_bytes_per_s)},
          {"bf16_gflop_per_s", known(peaks.float_flops_per_s)},
          {"fp8_gflop_per_s", known(peaks.fp8_flops_per_s)},
          {"int8_gop_per_s", known(peaks.int8_ops_per_s)},
          {"attention_gflop_per_s", known(peaks.attention_flops_per_s)}};
}

Json machine_json(const Exec& exec, const MachinePeaks& peaks) {
  Json reads = Json::array();
  for (const ReadCeiling& read : peaks.reads) {
    reads.push_back({{"threads", read.threads},
                     {"huge_pages_gb_per_s", read.huge_pages * 1e-9},
                     {"small_pages_gb_per_s", read.small_pages * 1e-9}});
  }
  Json ops = Json::array();
  for (const OpCeiling& op : peaks.ops) {
    ops.push_back(
        {{"target", ingot::to_string(op.target)},
         {"kind", to_string(op.kind)},
         {"name", op.name},
         {"one_thread_gop_per_s", op.one_thread > 0 ? Json(op.one_thread * 1e-9) : Json()},
         {"gop_per_s", op.all_threads * 1e-9}});
  }
  return {{"cpu", describe_cpu()},
          {"threads", exec.threads()},
          {"read_gb_per_s", peaks.read_bytes_per_s * 1e-9},
          {"float_gflop_per_s", peaks.float_flops_per_s * 1e-9},
          {"int8_gop_per_s", peaks.int8_ops_per_s * 1e-9},
          {"reads", std::move(reads)},
          {"peaks", std::move(ops)}};
}

}  // namespace ingot
