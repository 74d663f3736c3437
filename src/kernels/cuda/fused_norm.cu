// SPDX-License-Identifier: Apache-2.0
// A norm and the packing of its result. A block of threads has a token, whose row stays in
// registers from the residual sum to the codes; columns as in packed_rows.cuh.
#include "kernels/cuda/fused_inputs.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/packed_rows.cuh"

namespace ingot::cuda {
namespace {

constexpr int kWarps = 16;
constexpr int kColumns = kWarpColumns * kWarps;
constexpr int kMostBlocks = 4;  // of kColumns that a row may have

using Kind = PackedRows::Kind;

// kBlocks: of 256 columns that a warp keeps. No more than a row needs: with few registers it can
// begin beside the product in front of it.
template <Kind kKind, int kBlocks>
__global__ void __launch_bounds__(32 * kWarps)
    norm_kernel(const __grid_constant__ NormRows norm, const __grid_constant__ PackedRows out) {
  let_next_begin();
  __shared__ float slots[32];
  const int64_t token = blockIdx.x;
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int dim = static_cast<int>(norm.dim);
  const int blocks = (dim + kWarpColumns - 1) / kWarpColumns;
  float weights[kBlocks][8];  // constants, so that they need not wait
#pragma unroll
  for (int i = 0; i < kBlocks; ++i) {
    const int col = (warp + i * kWarps) * kWarpColumns + lane * 8;
    if (norm.weight != nullptr && col < dim) load_8(norm.weight + col, weights[i]);
  }
  wait_for_inputs();
  float values[kBlocks][8];
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kBlocks; ++i) {
    const int col = (warp + i * kWarps) * kWarpColumns + lane * 8;
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
    for (int k = 0; k < 8; ++k)
      sum += norm.is_layer_norm ? values[i][k] : values[i][k] * values[i][k];
  }
  const auto count = static_cast<float>(dim);
  float mean = 0;
  float square = block_reduce(sum, Add{}, slots) / count;
  if (norm.is_layer_norm) {
    mean = square;
    sum = 0;
#pragma unroll
    for (int i = 0; i < kBlocks; ++i) {
      if ((warp + i * kWarps) * kWarpColumns + lane * 8 >= dim) continue;
#pragma unroll
      for (int k = 0; k < 8; ++k)
        sum += (values[i][k] - mean) * (values[i][k] - mean);
    }
    square = block_reduce(sum, Add{}, slots) / count;
  }
  const float factor = 1.0f / sqrtf(square + norm.eps);
  RowRounding<kKind> rounding(out.scales.quant);
#pragma unroll
  for (int i = 0; i < kBlocks; ++i) {
    const int block = warp + i * kWarps;
    if (block >= blocks) continue;
    const int col = block * kWarpColumns + lane * 8;
    if (col < dim) {
#pragma unroll
      for (int k = 0; k < 8; ++k) {
        values[i][k] = (values[i][k] - mean) * factor;
        if (norm.weight != nullptr) values[i][k] *= weights[i][k];
      }
      if (norm.bias != nullptr) {
        float bias[8];
        load_8(norm.bias + col, bias);
#pragma unroll
        for (int k = 0; k < 8; ++k)
          values[i][k] += bias[k];
      }
      store_8(norm.y + token * dim + col, values[i]);
    }
    if constexpr (is_rounded(kKind)) rounding.take(values[i]);
  }
  if constexpr (is_rounded(kKind)) rounding.close();
#pragma unroll
  for (int i = 0; i < kBlocks; ++i) {
    const int block = warp + i * kWarps;
    if (block < blocks) pack_8<kKind>(values[i], rounding, dim, token, block, out);
  }
}

template <Kind kKind, int kBlocks>
void launch_norm(const NormRows& norm, const PackedRows& out, Stream stream) {
  launch_early(norm_kernel<kKind, kBlocks>, {dim3(static_cast<unsigned>(norm.rows)), 32 * kWarps},
               stream, norm, out);
}

}  // namespace

bool can_fuse_norm(const NormRows& norm) {
  return can_fuse(norm.dim) && norm.dim <= kColumns * kMostBlocks && norm.weight_rows == 1;
}

void normalize_and_pack(const NormRows& norm, const PackedRows& out, Stream stream) {
  const int64_t blocks = (norm.dim + kColumns - 1) / kColumns;
  visit_kind(out.kind, [&]<Kind kKind>() {
    if (blocks <= 1) return launch_norm<kKind, 1>(norm, out, stream);
    if (blocks <= 2) return launch_norm<kKind, 2>(norm, out, stream);
    launch_norm<kKind, kMostBlocks>(norm, out, stream);
  });
}

}  // namespace ingot::cuda
