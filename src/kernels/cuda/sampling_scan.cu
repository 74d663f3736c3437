// SPDX-License-Identifier: Apache-2.0
// The largest of every row, and with it the tokens of greedy rows. Several thread blocks share a
// row, each with a run of blocks of 64; a warp a row joins them. Reads every logit once.
#include <algorithm>

#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/sampling_row.cuh"

namespace ingot::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kJoinThreads = 128;
// Enough to fill a large device several times, without runs so short that joining them costs more.
constexpr int32_t kWantedThreadBlocks = 4096;
constexpr int32_t kShortestRun = 2048;

// The largest of a run, and whether all of it are numbers below plus infinity.
struct Best {
  float x = -kInfinity;
  int id = 0;
  bool is_bad = false;

  // Ids come in rising order.
  __device__ void add(float value, bool is_allowed, int at) {
    if (!(value < kInfinity)) is_bad = true;
    if (is_allowed && value > x) {
      x = value;
      id = at;
    }
  }
  __device__ RowKey key() const { return is_bad ? kBadKey : key_of(x, id); }
};

__device__ Best scan_run(const RowView& row, int begin, int end) {
  Best best;
#pragma unroll 8
  for (int i = begin + static_cast<int>(threadIdx.x); i < end; i += kThreads)
    best.add(row.x[i], row.allows(i), i);
  return best;
}

// Keeps the largest of each block of 64 too: a warp takes one at a time.
__device__ Best scan_blocks(const RowView& row, int first, int end, float* block_tops) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  Best best;
#pragma unroll 4
  for (int block = first + static_cast<int>(threadIdx.x) / 32; block < end; block += kWarps) {
    uint32_t order = order_of(-kInfinity);
    for (int half = 0; half < 2; ++half) {
      const int i = block * kRowBlock + half * 32 + lane;
      if (i >= row.vocab) continue;
      const float value = row.x[i];
      const bool is_allowed = row.allows(i);
      best.add(value, is_allowed, i);
      if (is_allowed) order = max(order, order_of(value));
    }
    order = __reduce_max_sync(0xFFFFFFFF, order);
    if (lane == 0) block_tops[block] = from_order(order);
  }
  return best;
}

__global__ __launch_bounds__(kThreads) void scan_kernel(const __grid_constant__ SamplingPass pass) {
  __shared__ RowKey slots[32];
  const int index = static_cast<int>(blockIdx.y);
  const RowPlan& plan = pass.plans[index];
  const RowView row = view_of(pass, plan);
  const int blocks = row.blocks();
  const int each = (blocks + pass.parts - 1) / pass.parts;
  const int first = min(static_cast<int>(blockIdx.x) * each, blocks);
  const int end = min(first + each, blocks);
  const Best best =
      index < pass.searched
          ? scan_blocks(row, first, end, pass.block_tops + static_cast<int64_t>(index) * blocks)
          : scan_run(row, first * kRowBlock, min(end * kRowBlock, row.vocab));
  const RowKey key = block_reduce(best.key(), Max{}, slots);
  if (threadIdx.x == 0) pass.partial_tops[index * pass.parts + blockIdx.x] = key;
}

__global__ __launch_bounds__(kJoinThreads) void join_kernel(
    const __grid_constant__ SamplingPass pass) {
  const int index = static_cast<int>(blockIdx.x * (kJoinThreads / 32) + threadIdx.x / 32);
  if (index >= pass.count) return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  RowKey key = 0;
  for (int part = lane; part < pass.parts; part += 32)
    key = max(key, pass.partial_tops[index * pass.parts + part]);
  key = warp_reduce(key, Max{});
  if (lane != 0) return;
  pass.tops[index] = key;
  if (index < pass.searched) return;
  const int token = is_number(key) ? id_of(key) : -1;
  const int row = pass.plans[index].row;
  pass.tokens[row] = token;
  pass.host_tokens[row] = token;
}

}  // namespace

int32_t sampling_parts(int32_t rows, int32_t vocab) {
  const int32_t most = (vocab + kShortestRun - 1) / kShortestRun;
  return std::clamp((kWantedThreadBlocks + rows - 1) / rows, 1, most);
}

void scan_rows(const SamplingPass& pass, Stream stream) {
  const dim3 grid(static_cast<unsigned>(pass.parts), static_cast<unsigned>(pass.count));
  scan_kernel<<<grid, kThreads, 0, stream>>>(pass);
  const int rows = kJoinThreads / 32;
  join_kernel<<<static_cast<unsigned>((pass.count + rows - 1) / rows), kJoinThreads, 0, stream>>>(
      pass);
}

}  // namespace ingot::cuda
