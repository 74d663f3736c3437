// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <vector>

#include "kernels/cuda/attention.h"
#include "kernels/cuda/ceilings.h"
#include "kernels/cuda/cuda_device.h"
#include "kernels/cuda/cuda_error.h"
#include "kernels/cuda/matmul_library.h"

namespace ingot::cuda {
namespace {

constexpr size_t kReadBytes = size_t{2} << 30;  // far more than a cache holds
constexpr int32_t kProductSize = 8192;
constexpr int kRepeats = 10;

// Two events around work on a stream.
class StreamClock {
 public:
  static Result<StreamClock> create(Stream stream) {
    StreamClock clock;
    clock.stream_ = stream;
    for (cudaEvent_t& event : clock.events_)
      INGOT_TRY(to_status(cudaEventCreate(&event), "an event"));
    return clock;
  }
  StreamClock(StreamClock&& other) noexcept : stream_(other.stream_) {
    std::swap(events_, other.events_);
  }
  ~StreamClock() {
    for (cudaEvent_t event : events_) {
      if (event != nullptr) cudaEventDestroy(event);
    }
  }

  // The least seconds of several calls of work(), which returns a Status, after one to warm up.
  template <class Work>
  Result<double> best(const Work& work) {
    INGOT_TRY(work());
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < kRepeats; ++i) {
      INGOT_TRY(to_status(cudaEventRecord(events_[0], stream_), "an event"));
      INGOT_TRY(work());
      INGOT_TRY(to_status(cudaEventRecord(events_[1], stream_), "an event"));
      INGOT_TRY(to_status(cudaEventSynchronize(events_[1]), "a measurement on the GPU"));
      float milliseconds = 0;
      INGOT_TRY(to_status(cudaEventElapsedTime(&milliseconds, events_[0], events_[1]), "an event"));
      least = std::min(least, static_cast<double>(milliseconds) * 1e-3);
    }
    return least;
  }

 private:
  StreamClock() = default;
  Stream stream_ = nullptr;
  std::array<cudaEvent_t, 2> events_{};
};

// Numbers of both signs and about the same size: a product of zeros would draw less power and run
// faster than real ones do.
std::vector<std::byte> random_values(ElementType type) {
  std::vector<std::byte> values(size_t{4} << 20);
  uint64_t state = 1;
  for (size_t i = 0; i < values.size(); i += 2) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    auto bits = static_cast<uint32_t>(state >> 40);
    if (type == ElementType::kBF16) bits = (bits & 0x807F) | 0x3F00;
    if (type == ElementType::kE4M3) bits = (bits & 0x8787) | 0x3838;
    values[i] = static_cast<std::byte>(bits & 0xFF);
    values[i + 1] = static_cast<std::byte>((bits >> 8) & 0xFF);
  }
  return values;
}

}  // namespace

Status CudaDevice::fill(Memory& memory, std::span<const std::byte> pattern) {
  for (size_t at = 0; at < memory.size(); at += pattern.size())
    INGOT_TRY(
        write(memory.data() + at, pattern.first(std::min(pattern.size(), memory.size() - at))));
  return Status::ok();
}

Result<double> CudaDevice::measure_reads() {
  INGOT_TRY(StreamClock clock, StreamClock::create(stream_));
  INGOT_TRY(Memory memory, Memory::allocate(std::min(kReadBytes, free_bytes() / 4 / 16 * 16)));
  INGOT_TRY(Memory out, Memory::allocate(sizeof(uint32_t)));
  INGOT_TRY(fill(memory, random_values(ElementType::kInt8)));
  INGOT_TRY(const double seconds, clock.best([&] {
    read_all(memory.data(), memory.size(), out.data(), stream_);
    return to_status(cudaGetLastError(), "a measurement on the GPU");
  }));
  return static_cast<double>(memory.size()) / seconds;
}

// Operations a second of a product in that type; 0 where the library has none.
Result<double> CudaDevice::measure_products(MatMulLibrary& library, ElementType type) {
  INGOT_TRY(StreamClock clock, StreamClock::create(stream_));
  constexpr size_t kElements = size_t{kProductSize} * kProductSize;
  const size_t bytes = kElements * (type == ElementType::kBF16 ? 2 : 1);
  INGOT_TRY(Memory weights, Memory::allocate(bytes));
  INGOT_TRY(Memory x, Memory::allocate(bytes));
  INGOT_TRY(Memory y, Memory::allocate(kElements * sizeof(float)));
  const std::vector<std::byte> values = random_values(type);
  INGOT_TRY(fill(weights, values));
  INGOT_TRY(fill(x, values));
  const MatMul product{.type = type,
                       .weights = weights.data(),
                       .weight_stride = kProductSize,
                       .x = x.data(),
                       .x_stride = kProductSize,
                       .y = y.data(),
                       .y_stride = kProductSize,
                       .rows = kProductSize,
                       .cols = kProductSize,
                       .tokens = kProductSize,
                       .tiles = {.each = kProductSize, .last = kProductSize}};
  bool is_offered = true;
  INGOT_TRY(const double seconds, clock.best([&] {
    is_offered = is_offered && library.run(product, stream_);
    return to_status(cudaGetLastError(), "a measurement on the GPU");
  }));
  constexpr auto kSize = static_cast<double>(kProductSize);
  return is_offered ? 2 * kSize * kSize * kSize / seconds : 0.0;
}

// Operations a second of a prompt's attention, each row over all before it, as 8B models have it.
Result<double> CudaDevice::measure_attention() {
  constexpr int32_t kTokens = 8192;
  constexpr int32_t kHeads = 32;
  constexpr int32_t kKvHeads = 8;
  constexpr int32_t kDim = 128;
  constexpr int32_t kPageTokens = 16;
  constexpr int32_t kPages = kTokens / kPageTokens;
  constexpr int32_t kPageBytes = kPageTokens * kKvHeads * 2 * kDim * 2;  // keys and values
  INGOT_TRY(StreamClock clock, StreamClock::create(stream_));
  INGOT_TRY(Memory cache, Memory::allocate(size_t{kPages} * kPageBytes));
  INGOT_TRY(Memory q, Memory::allocate(size_t{kTokens} * kHeads * kDim * sizeof(float)));
  INGOT_TRY(Memory out, Memory::allocate(q.size()));
  const std::vector<std::byte> values = random_values(ElementType::kBF16);
  INGOT_TRY(fill(cache, values));
  INGOT_TRY(fill(q, values));  // a float's upper half is a bf16
  // First row, tokens, first position, the pages in no order, and each row's sequence.
  std::vector<int32_t> tables{0, kTokens, 0};
  for (int32_t i = 0; i < kPages; ++i)
    tables.push_back(i * 173 % kPages);
  tables.resize(tables.size() + kTokens, 0);
  const auto bytes = std::as_bytes(std::span(tables));
  INGOT_TRY(Memory table, Memory::allocate(bytes.size()));
  INGOT_TRY(write(table.data(), bytes));
  const auto* ints = reinterpret_cast<const int32_t*>(table.data());
  AttentionArgs args{};
  args.kv = {.type = KvType::kBF16,
             .kv_heads = kKvHeads,
             .key_dim = kDim,
             .value_dim = kDim,
             .page_tokens = kPageTokens,
             .data = cache.data(),
             .page_stride = kPageBytes};
  args.q = reinterpret_cast<float*>(q.data());
  args.q_stride = kHeads * kDim;
  args.out = reinterpret_cast<float*>(out.data());
  args.out_stride = kHeads * kDim;
  args.heads = kHeads;
  args.scale = 0.088F;
  args.sequences = {.first_row = ints,
                    .tokens = ints + 1,
                    .first_position = ints + 2,
                    .pages = ints + 3,
                    .table_stride = kPages,
                    .row_sequence = ints + 3 + kPages,
                    .sequences = 1,
                    .rows = kTokens,
                    .most_tokens = kTokens,
                    .longest = kTokens};
  INGOT_TRY(const double seconds, clock.best([&] {
    attend(args, stream_);
    return to_status(cudaGetLastError(), "a measurement on the GPU");
  }));
  return 4.0 * kHeads * kDim * kTokens * (kTokens / 2) / seconds;
}

Result<DeviceCeilings> CudaDevice::measure_ceilings() {
  DeviceCeilings ceilings;
  INGOT_TRY(ceilings.read_bytes_per_s, measure_reads());
  INGOT_TRY(ceilings.attention_flops_per_s, measure_attention());
  const std::unique_ptr<MatMulLibrary> library = MatMulLibrary::open();
  if (library == nullptr) return ceilings;
  INGOT_TRY(ceilings.bf16_flops_per_s, measure_products(*library, ElementType::kBF16));
  INGOT_TRY(ceilings.fp8_flops_per_s, measure_products(*library, ElementType::kE4M3));
  INGOT_TRY(ceilings.int8_ops_per_s, measure_products(*library, ElementType::kInt8));
  return ceilings;
}

}  // namespace ingot::cuda
