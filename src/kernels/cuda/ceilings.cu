// SPDX-License-Identifier: Apache-2.0
// Thread block -> 64 KiB at a time, eight loads of 16 bytes a thread on their way together; as many
// blocks as the device holds at once, which go over the memory side by side.
// Bytes: all of them, once. `ingot bench kernels --device cuda` shows what comes of it.
#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/ceilings.h"

namespace ingot::cuda {
namespace {

constexpr int kThreads = 512;
constexpr int kLoads = 8;
constexpr int kBlocksPerProcessor = 3;  // that every generation holds: Ada has 1,536 threads
constexpr uint32_t kUnlikely = 0x9E3779B9;

struct ReadArgs {
  const uint4* from;
  size_t count;
  uint32_t* out;
};

__global__ void __launch_bounds__(kThreads, kBlocksPerProcessor)
    read_all_kernel(const __grid_constant__ ReadArgs args) {
  constexpr size_t kTile = static_cast<size_t>(kThreads) * kLoads;
  uint32_t sum = 0;
  for (size_t tile = blockIdx.x * kTile; tile < args.count; tile += gridDim.x * kTile) {
    uint4 values[kLoads] = {};
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const size_t at = tile + static_cast<size_t>(i) * kThreads + threadIdx.x;
      if (at < args.count) values[i] = __ldcs(args.from + at);
    }
#pragma unroll
    for (int i = 0; i < kLoads; ++i)
      sum += values[i].x ^ values[i].y ^ values[i].z ^ values[i].w;
  }
  if (sum == kUnlikely) *args.out = sum;
}

}  // namespace

void read_all(const std::byte* from, size_t bytes, std::byte* out, Stream stream) {
  int device = 0;
  int processors = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  const ReadArgs args{reinterpret_cast<const uint4*>(from), bytes / sizeof(uint4),
                      reinterpret_cast<uint32_t*>(out)};
  read_all_kernel<<<static_cast<unsigned>(processors * kBlocksPerProcessor), kThreads, 0, stream>>>(
      args);
}

}  // namespace ingot::cuda
