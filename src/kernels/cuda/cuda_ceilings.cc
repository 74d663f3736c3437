// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "kernels/cuda/ceilings.h"
#include "kernels/cuda/cuda_device.h"
#include "kernels/cuda/cuda_error.h"
#include "kernels/cuda/matmul_library.h"

namespace ingot::cuda {
namespace {

constexpr size_t kReadBytes = size_t{2} << 30;  // far more than a cache holds
constexpr int64_t kProductSize = 8192;
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

// Numbers of both signs between a half and one: a product of zeros would draw less power and run
// faster than real ones do.
std::vector<uint16_t> random_bf16(size_t count) {
  std::vector<uint16_t> values(count);
  uint64_t state = 1;
  for (uint16_t& value : values) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    value = static_cast<uint16_t>(0x3F00U | ((state >> 40) & 0x807FU));
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

Result<DeviceCeilings> CudaDevice::measure_ceilings() {
  DeviceCeilings ceilings;
  INGOT_TRY(StreamClock clock, StreamClock::create(stream_));
  const std::vector<uint16_t> values = random_bf16(size_t{4} << 20);
  const std::span<const std::byte> pattern = std::as_bytes(std::span(values));
  {
    INGOT_TRY(Memory memory, Memory::allocate(std::min(kReadBytes, free_bytes() / 4 / 16 * 16)));
    INGOT_TRY(Memory out, Memory::allocate(sizeof(uint32_t)));
    INGOT_TRY(fill(memory, pattern));
    INGOT_TRY(const double seconds, clock.best([&] {
      read_all(memory.data(), memory.size(), out.data(), stream_);
      return to_status(cudaGetLastError(), "a measurement on the GPU");
    }));
    ceilings.read_bytes_per_s = static_cast<double>(memory.size()) / seconds;
  }
  const std::unique_ptr<MatMulLibrary> library = MatMulLibrary::open();
  if (library == nullptr) return ceilings;
  constexpr auto kElements = static_cast<size_t>(kProductSize * kProductSize);
  INGOT_TRY(Memory weights, Memory::allocate(kElements * sizeof(uint16_t)));
  INGOT_TRY(Memory x, Memory::allocate(kElements * sizeof(uint16_t)));
  INGOT_TRY(Memory y, Memory::allocate(kElements * sizeof(float)));
  INGOT_TRY(fill(weights, pattern));
  INGOT_TRY(fill(x, pattern));
  const MatMul product{.type = ElementType::kBF16,
                       .weights = weights.data(),
                       .weight_stride = kProductSize,
                       .x = x.data(),
                       .x_stride = kProductSize,
                       .y = reinterpret_cast<float*>(y.data()),
                       .y_stride = kProductSize,
                       .rows = kProductSize,
                       .cols = kProductSize,
                       .tokens = kProductSize};
  INGOT_TRY(const double seconds, clock.best([&] { return library->run(product, stream_); }));
  constexpr auto kSize = static_cast<double>(kProductSize);
  ceilings.bf16_flops_per_s = 2 * kSize * kSize * kSize / seconds;
  return ceilings;
}

}  // namespace ingot::cuda
