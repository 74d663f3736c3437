// SPDX-License-Identifier: Apache-2.0
// An activation function and the packing of its result, columns as in packed_rows.cuh. Where groups
// of columns are packed by themselves, as many blocks of threads as they fill; where a row has one
// scale, a cluster of blocks has the row. Numbers stay in registers between the largest of them and
// the codes; what a cluster cannot keep is made again.
#include "kernels/cuda/activation.cuh"
#include "kernels/cuda/fused_inputs.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/packed_rows.cuh"

namespace ingot::cuda {
namespace {

constexpr int kWarps = 16;
constexpr int kColumns = kWarpColumns * kWarps;

using Kind = PackedRows::Kind;

// This lane's columns of a block; zeros behind the row.
__device__ inline void make_8(const ActivationRows& rows, int cols, int64_t token, int block,
                              float (&values)[8]) {
  const int col = block * kWarpColumns + threadIdx.x % 32 * 8;
#pragma unroll
  for (int k = 0; k < 8; ++k)
    values[k] = 0;
  if (col >= cols) return;
  const int64_t at = token * cols + col;
  load_8(rows.gate + at, values);
  if (rows.activation < 0) return;
  float up[8];
  if (rows.up != nullptr) load_8(rows.up + at, up);
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    values[k] = activated(static_cast<Activation>(rows.activation), values[k]);
    if (rows.up != nullptr) values[k] *= up[k];
  }
}
__device__ inline void store_made(const ActivationRows& rows, int cols, int64_t token, int block,
                                  const float (&values)[8]) {
  const int col = block * kWarpColumns + threadIdx.x % 32 * 8;
  if (rows.activation >= 0 && col < cols) store_8(rows.out + token * cols + col, values);
}

template <Kind kKind>
__global__ void __launch_bounds__(32 * kWarps)
    activation_kernel(const __grid_constant__ ActivationRows rows, int cols,
                      const __grid_constant__ PackedRows out) {
  let_next_begin();
  wait_for_inputs();
  const int64_t token = blockIdx.y;
  const int block = blockIdx.x * kWarps + threadIdx.x / 32;
  if (block * kWarpColumns >= cols) return;
  float values[8];
  make_8(rows, cols, token, block, values);
  store_made(rows, cols, token, block, values);
  pack_8<kKind>(values, RowRounding(out.scales.quant), cols, token, block, out);
}

// With few registers it can begin beside the product in front of it.
template <Kind kKind>
__global__ void __launch_bounds__(32 * kWarps, 3)
    activation_row_kernel(const __grid_constant__ ActivationRows rows, int cols,
                          const __grid_constant__ PackedRows out) {
  arrive_at_cluster();  // this block has begun
  let_next_begin();
  wait_for_inputs();
  const int64_t token = blockIdx.y;
  const int first = blockIdx.x * kWarps + threadIdx.x / 32;
  const auto step = static_cast<int>(gridDim.x) * kWarps;
  const int blocks = (cols + kWarpColumns - 1) / kWarpColumns;
  RowRounding rounding(out.scales.quant);
  // Nothing is stored before the codes are: what is made again is read again.
  float kept[8];
  make_8(rows, cols, token, first, kept);
  rounding.take(kept);
  float more[8];
#pragma unroll 1
  for (int block = first + step; block < blocks; block += step) {
    make_8(rows, cols, token, block, more);
    rounding.take(more);
  }
  rounding.close_cluster();
  const auto finish = [&](const float(&values)[8], int block) {
    store_made(rows, cols, token, block, values);
    pack_8<kKind>(values, rounding, cols, token, block, out);
  };
  if (first < blocks) finish(kept, first);
#pragma unroll 1
  for (int block = first + step; block < blocks; block += step) {
    make_8(rows, cols, token, block, more);
    finish(more, block);
  }
}

// Blocks of threads that a row fills, a power of two.
unsigned cluster_for(int64_t cols) {
  if (device_generation() < 9) return 1;
  unsigned size = 1;
  while (size < kMostOfCluster && size * kColumns < cols)
    size *= 2;
  return size;
}

}  // namespace

bool can_fuse(int64_t cols) {
  return cols % 8 == 0;
}

bool can_fuse_rounding(const InputQuant& quant) {
  return quant.kind == InputKind::kInt8 || quant.block == 0 || quant.block == kSpan;
}

void activate_and_pack(const ActivationRows& rows, int64_t tokens, int64_t cols,
                       const PackedRows& out, Stream stream) {
  const auto width = static_cast<int>(cols);
  const auto count = static_cast<unsigned>(tokens);
  const InputQuant& quant = out.scales.quant;
  const bool is_whole_row = quant.kind != InputKind::kE4m3 || quant.block != kSpan;
  visit_kind(out.kind, [&]<Kind kKind>() {
    if constexpr (is_rounded(kKind)) {
      if (is_whole_row) {
        const unsigned cluster = cluster_for(cols);
        return launch_early(activation_row_kernel<kKind>,
                            {dim3(cluster, count), 32 * kWarps, 0, cluster}, stream, rows, width,
                            out);
      }
    }
    const dim3 grid(static_cast<unsigned>((cols + kColumns - 1) / kColumns), count);
    launch_early(activation_kernel<kKind>, {grid, 32 * kWarps}, stream, rows, width, out);
  });
}

void pack_rows(const float* x, int64_t tokens, int64_t cols, const PackedRows& out, Stream stream) {
  activate_and_pack({-1, x, nullptr, nullptr}, tokens, cols, out, stream);
}

}  // namespace ingot::cuda
