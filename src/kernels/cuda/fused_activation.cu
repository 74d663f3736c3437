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

constexpr int kWarps = 16;  // of a block that shares a row's scale
constexpr int kColumns = kWarpColumns * kWarps;
// Where nothing is shared: few, so that a single row is spread over many processors.
constexpr int kFewWarps = 4;

using Kind = PackedRows::Kind;

constexpr int kNone = -1;  // as ActivationRows has it
constexpr int kAny = -2;   // as the rows say
constexpr int kSilu = static_cast<int>(Activation::kSilu);

// This lane's columns of a block; zeros behind the row. kActivation: known before, as code for all
// of them is long enough to be waited for.
template <int kActivation>
__device__ inline void make_8(const ActivationRows& rows, int cols, int64_t token, int block,
                              float (&values)[8]) {
  const int col = block * kWarpColumns + threadIdx.x % 32 * 8;
#pragma unroll
  for (int k = 0; k < 8; ++k)
    values[k] = 0;
  if (col >= cols) return;
  const int64_t at = token * cols + col;
  load_8(rows.gate + at, values);
  const int activation = kActivation == kAny ? rows.activation : kActivation;
  if (activation < 0) return;
  float up[8];
  if (rows.up != nullptr) load_8(rows.up + at, up);
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    values[k] = activated(static_cast<Activation>(activation), values[k]);
    if (rows.up != nullptr) values[k] *= up[k];
  }
}
__device__ inline void store_made(const ActivationRows& rows, int cols, int64_t token, int block,
                                  const float (&values)[8]) {
  const int col = block * kWarpColumns + threadIdx.x % 32 * 8;
  if (rows.is_stored && rows.activation >= 0 && col < cols)
    store_8(rows.out + token * cols + col, values);
}

template <Kind kKind, int kActivation>
__global__ void __launch_bounds__(32 * kFewWarps)
    activation_kernel(const __grid_constant__ ActivationRows rows, int cols,
                      const __grid_constant__ PackedRows out) {
  let_next_begin();
  wait_for_inputs();
  const int64_t token = blockIdx.y;
  const int block = blockIdx.x * kFewWarps + threadIdx.x / 32;
  if (block * kWarpColumns >= cols) return;
  float values[8];
  make_8<kActivation>(rows, cols, token, block, values);
  store_made(rows, cols, token, block, values);
  pack_8<kKind>(values, RowRounding<kKind>(out.scales.quant), cols, token, block, out);
}

// kKeeps: a cluster has lanes for all columns. With few registers it can begin beside the product
// in front of it.
template <Kind kKind, int kActivation, bool kKeeps>
__global__ void __launch_bounds__(32 * kWarps, 3)
    activation_row_kernel(const __grid_constant__ ActivationRows rows, int cols,
                          const __grid_constant__ PackedRows out) {
  __shared__ typename RowRounding<kKind>::Letters letters;
  if (cluster_size() > 1) {
    letters.open();
    begin_opening();
  }
  let_next_begin();
  wait_for_inputs();
  const int64_t token = blockIdx.y;
  const int first = blockIdx.x * kWarps + threadIdx.x / 32;
  const int blocks = (cols + kWarpColumns - 1) / kWarpColumns;
  RowRounding<kKind> rounding(out.scales.quant);
  // Nothing is stored before the codes are: what is made again is read again.
  float values[8];
  const auto finish = [&](int block) {
    pack_codes<kKind>(values, rounding.row(), cols, token, block, out);
    store_made(rows, cols, token, block, values);
  };
  const auto close = [&] {
    if (cluster_size() > 1) end_opening();
    rounding.close_cluster(letters);
  };
  if constexpr (kKeeps) {
    make_8<kActivation>(rows, cols, token, first, values);
    rounding.take(values);
    close();
    if (first < blocks) finish(first);
  } else {
    const auto step = static_cast<int>(gridDim.x) * kWarps;
#pragma unroll 1
    for (int block = first; block < blocks; block += step) {
      make_8<kActivation>(rows, cols, token, block, values);
      rounding.take(values);
    }
    close();
#pragma unroll 1
    for (int block = first; block < blocks; block += step) {
      make_8<kActivation>(rows, cols, token, block, values);
      finish(block);
    }
  }
}

template <Kind kKind>
void launch_row(const ActivationRows& rows, int cols, unsigned tokens, unsigned cluster,
                const PackedRows& out, Stream stream) {
  const auto launch = [&](auto kernel) {
    launch_early(kernel, {dim3(cluster, tokens), 32 * kWarps, 0, cluster}, stream, rows, cols, out);
  };
  if (static_cast<int>(cluster) * kColumns < cols)
    return launch(activation_row_kernel<kKind, kAny, false>);
  if (rows.activation == kNone) return launch(activation_row_kernel<kKind, kNone, true>);
  if (rows.activation == kSilu) return launch(activation_row_kernel<kKind, kSilu, true>);
  launch(activation_row_kernel<kKind, kAny, true>);
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
      if (is_whole_row)
        return launch_row<kKind>(rows, width, count, cluster_for(cols), out, stream);
    }
    constexpr int kEach = kWarpColumns * kFewWarps;
    const dim3 grid(static_cast<unsigned>((cols + kEach - 1) / kEach), count);
    const auto launch = [&](auto kernel) {
      launch_early(kernel, {grid, 32 * kFewWarps}, stream, rows, width, out);
    };
    if (rows.activation == kNone) return launch(activation_kernel<kKind, kNone>);
    if (rows.activation == kSilu) return launch(activation_kernel<kKind, kSilu>);
    launch(activation_kernel<kKind, kAny>);
  });
}

void pack_rows(const float* x, int64_t tokens, int64_t cols, const PackedRows& out, Stream stream) {
  activate_and_pack({kNone, x, nullptr, nullptr}, tokens, cols, out, stream);
}

}  // namespace ingot::cuda
