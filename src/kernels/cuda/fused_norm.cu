// SPDX-License-Identifier: Apache-2.0
// A norm and the packing of its result. A block of threads has a token, whose row stays in
// registers from the residual sum to the codes; columns as in packed_rows.cuh. Of few tokens each
// has a cluster of small blocks instead: one processor alone would take twice as long for its
// instructions. Sums are added in the same order either way.
#include "kernels/cuda/fused_inputs.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/packed_rows.cuh"

namespace ingot::cuda {
namespace {

constexpr int kWarps = 16;
constexpr int kColumns = kWarpColumns * kWarps;
constexpr int kMostBlocks = 4;    // of kColumns that a row may have
constexpr int kClusterWarps = 4;  // of each block of a cluster
constexpr int64_t kFewRows = 64;

using Kind = PackedRows::Kind;

// The sums of a row's blocks of 256 columns, which all of its threads get and add in one order. In
// a cluster, block i * 32 + rank * 4 + warp of a row is that warp's i-th.
template <int kBlocks, bool kIsCluster>
struct RowSums;

template <int kBlocks>
struct RowSums<kBlocks, false> {
  float of[kBlocks * kWarps];

  __device__ void open() {}
  __device__ float total(const float (&own)[kBlocks], int) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
      const float sum = warp_reduce(own[i], Add{});
      if (lane == 0) of[i * kWarps + threadIdx.x / 32] = sum;
    }
    __syncthreads();
    float sum = lane < kBlocks * kWarps ? of[lane] : 0;
    if constexpr (kBlocks * kWarps > 32) sum += of[lane + 32];
    return warp_reduce(sum, Add{});
  }
};

template <int kBlocks>
struct RowSums<kBlocks, true> {
  static constexpr int kWords = kBlocks * kClusterWarps;
  uint32_t own_words[kWords];
  ClusterLetters<kWords> letters;

  __device__ void open() { letters.open(); }
  __device__ float total(const float (&own)[kBlocks], int blocks) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
      const float sum = warp_reduce(own[i], Add{});
      if (lane == 0) own_words[i * kClusterWarps + threadIdx.x / 32] = __float_as_uint(sum);
    }
    __syncthreads();
    uint32_t words[kWords];
#pragma unroll
    for (int i = 0; i < kWords; ++i)
      words[i] = own_words[i];
    letters.exchange(words);
    const auto sum_of = [&](int i) {
      const uint32_t word =
          letters.from[lane / kClusterWarps][i * kClusterWarps + lane % kClusterWarps];
      return i * 32 + lane < blocks ? __uint_as_float(word) : 0.0f;
    };
    float sum = sum_of(0);
    if constexpr (kBlocks > 1) sum += sum_of(1);
    return warp_reduce(sum, Add{});
  }
};

// kBlocks: of 256 columns that a warp keeps. No more than a row needs: with few registers it can
// begin beside the product in front of it.
template <Kind kKind, int kBlocks, bool kIsCluster>
__global__ void __launch_bounds__(32 * (kIsCluster ? kClusterWarps : kWarps))
    norm_kernel(const __grid_constant__ NormRows norm, const __grid_constant__ PackedRows out) {
  __shared__ RowSums<kBlocks, kIsCluster> sums, squares;
  __shared__ typename RowRounding<kKind>::Letters letters;
  const int rank = kIsCluster ? cluster_rank() : 0;
  if constexpr (kIsCluster) {
    sums.open();
    if (norm.is_layer_norm) squares.open();
    if constexpr (is_rounded(kKind)) letters.open();
    begin_opening();
  }
  let_next_begin();
  const int64_t token = kIsCluster ? blockIdx.y : blockIdx.x;
  const int lane = threadIdx.x % 32;
  const int dim = static_cast<int>(norm.dim);
  const int blocks = (dim + kWarpColumns - 1) / kWarpColumns;
  const int first = rank * kClusterWarps + static_cast<int>(threadIdx.x) / 32;
  constexpr int kStep = kIsCluster ? kMostOfCluster * kClusterWarps : kWarps;
  float weights[kBlocks][8];  // constants, so that they need not wait
#pragma unroll
  for (int i = 0; i < kBlocks; ++i) {
    const int col = (first + i * kStep) * kWarpColumns + lane * 8;
    if (norm.weight != nullptr && col < dim) load_8(norm.weight + col, weights[i]);
  }
  wait_for_inputs();
  float values[kBlocks][8];
  float sum[kBlocks] = {};
#pragma unroll
  for (int i = 0; i < kBlocks; ++i) {
    const int col = (first + i * kStep) * kWarpColumns + lane * 8;
    const int64_t at = token * dim + col;
#pragma unroll
    for (int k = 0; k < 8; ++k)
      values[i][k] = 0;
    if (col >= dim) continue;
    load_8(norm.x + at, values[i]);
    if (norm.branch != nullptr) {
      float branch[8];
      load_8(norm.branch + at, branch);
#pragma unroll
      for (int k = 0; k < 8; ++k)
        values[i][k] = fmaf(norm.factor, branch[k], values[i][k]);
      store_8(norm.residual + at, values[i]);
    }
#pragma unroll
    for (int k = 0; k < 8; ++k)  // not left to the compiler, which may do else for another kind
      sum[i] =
          norm.is_layer_norm ? sum[i] + values[i][k] : fmaf(values[i][k], values[i][k], sum[i]);
  }
  if constexpr (kIsCluster) end_opening();
  const auto count = static_cast<float>(dim);
  float mean = 0;
  float square = sums.total(sum, blocks) / count;
  if (norm.is_layer_norm) {
    mean = square;
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
      sum[i] = 0;
      if ((first + i * kStep) * kWarpColumns + lane * 8 >= dim) continue;
#pragma unroll
      for (int k = 0; k < 8; ++k) {
        const float from_mean = values[i][k] - mean;
        sum[i] = fmaf(from_mean, from_mean, sum[i]);
      }
    }
    square = squares.total(sum, blocks) / count;
  }
  const float factor = 1.0f / sqrtf(square + norm.eps);
  RowRounding<kKind> rounding(out.scales.quant);
#pragma unroll
  for (int i = 0; i < kBlocks; ++i) {
    const int block = first + i * kStep;
    if (block >= blocks) continue;
    const int col = block * kWarpColumns + lane * 8;
    if (col < dim) {
#pragma unroll
      for (int k = 0; k < 8; ++k) {
        values[i][k] = (values[i][k] - mean) * factor;
        if (norm.weight != nullptr) values[i][k] = __fmul_rn(values[i][k], weights[i][k]);
      }
      if (norm.bias != nullptr) {
        float bias[8];
        load_8(norm.bias + col, bias);
#pragma unroll
        for (int k = 0; k < 8; ++k)
          values[i][k] = __fadd_rn(values[i][k], bias[k]);
      }
      if (norm.is_stored) store_8(norm.y + token * dim + col, values[i]);
    }
    if constexpr (is_rounded(kKind)) rounding.take(values[i]);
  }
  if constexpr (is_rounded(kKind)) {
    if constexpr (kIsCluster) {
      rounding.close_cluster(letters);
    } else {
      rounding.close();
    }
  }
#pragma unroll
  for (int i = 0; i < kBlocks; ++i) {
    const int block = first + i * kStep;
    if (block < blocks) pack_8<kKind>(values[i], rounding, dim, token, block, out);
  }
}

template <Kind kKind, int kBlocks>
void launch_norm(const NormRows& norm, const PackedRows& out, Stream stream) {
  launch_early(norm_kernel<kKind, kBlocks, false>,
               {dim3(static_cast<unsigned>(norm.rows)), 32 * kWarps}, stream, norm, out);
}

template <Kind kKind, int kBlocks>
void launch_cluster(const NormRows& norm, const PackedRows& out, Stream stream) {
  constexpr int64_t kEach = kWarpColumns * kClusterWarps;
  unsigned size = 1;
  while (size < kMostOfCluster && size * kEach < norm.dim)
    size *= 2;
  launch_early(norm_kernel<kKind, kBlocks, true>,
               {dim3(size, static_cast<unsigned>(norm.rows)), 32 * kClusterWarps, 0, size}, stream,
               norm, out);
}

}  // namespace

bool can_fuse_norm(const NormRows& norm) {
  return can_fuse(norm.dim) && norm.dim <= kColumns * kMostBlocks && norm.weight_rows == 1;
}

void normalize_and_pack(const NormRows& norm, const PackedRows& out, Stream stream) {
  const int64_t blocks = (norm.dim + kColumns - 1) / kColumns;
  const bool is_spread =
      norm.rows <= kFewRows && norm.dim > kWarpColumns * kClusterWarps && device_generation() >= 9;
  visit_kind(out.kind, [&]<Kind kKind>() {
    if (is_spread && blocks <= 2) return launch_cluster<kKind, 1>(norm, out, stream);
    if (is_spread) return launch_cluster<kKind, 2>(norm, out, stream);
    if (blocks <= 1) return launch_norm<kKind, 1>(norm, out, stream);
    if (blocks <= 2) return launch_norm<kKind, 2>(norm, out, stream);
    launch_norm<kKind, kMostBlocks>(norm, out, stream);
  });
}

}  // namespace ingot::cuda
