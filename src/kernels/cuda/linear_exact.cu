// SPDX-License-Identifier: Apache-2.0
// Weights of floats by inputs in f32: plain fused multiply-adds. A warp has one row and eight
// tokens, a lane every 32nd column.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "kernels/cuda/linear.h"
#include "kernels/cuda/linear_tiles.cuh"

namespace ingot::cuda {
namespace {

constexpr int kWarps = 8;
constexpr int kExactTokens = 8;

template <class Weight, bool kIsScaled>
__global__ void __launch_bounds__(32 * kWarps)
    linear_exact_kernel(const __grid_constant__ LinearParts parts,
                        const __grid_constant__ FloatInput x) {
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const TilePlace place = find_tile(parts, blockIdx.y, kWarps);
  const LinearPart& part = parts.part[place.part];
  const int row = place.tile * kWarps + warp;
  if (row >= part.rows) return;
  const int first_token = blockIdx.x * kExactTokens;
  const auto* weights = reinterpret_cast<const Weight*>(part.weights + row * part.stride);
  const auto* inputs = static_cast<const float*>(x.values);
  float total[kExactTokens] = {};
  for (int col = lane; col < parts.cols; col += 32) {
    float weight = static_cast<float>(weights[col]);
    if constexpr (kIsScaled) {
      weight *= part.row_scales[row * part.scale_spans + (part.scale_spans == 1 ? 0 : col / 128)];
    }
#pragma unroll
    for (int i = 0; i < kExactTokens; ++i) {
      const int64_t token = min(first_token + i, x.tokens - 1);
      total[i] = fmaf(weight, inputs[token * x.stride + col], total[i]);
    }
  }
#pragma unroll
  for (int i = 0; i < kExactTokens; ++i) {
    for (int offset = 16; offset > 0; offset /= 2)
      total[i] += __shfl_xor_sync(0xFFFFFFFF, total[i], offset);
    if (lane == 0 && first_token + i < x.tokens) {
      const float sum = total[i] * parts.scale;
      part.y[(first_token + i) * part.y_stride + row] =
          part.bias == nullptr ? sum : sum + part.bias[row];
    }
  }
}

template <class Weight, bool kIsScaled>
void launch_exact(const LinearParts& parts, const FloatInput& x, Stream stream) {
  const dim3 grid((x.tokens + kExactTokens - 1) / kExactTokens, tiles_of(parts, kWarps));
  linear_exact_kernel<Weight, kIsScaled><<<grid, 32 * kWarps, 0, stream>>>(parts, x);
}

}  // namespace

void linear_exact(ElementType type, const LinearParts& parts, const FloatInput& x, Stream stream) {
  switch (type) {
    case ElementType::kF32:
      return launch_exact<float, false>(parts, x, stream);
    case ElementType::kF16:
      return launch_exact<__half, false>(parts, x, stream);
    case ElementType::kBF16:
      return launch_exact<__nv_bfloat16, false>(parts, x, stream);
    case ElementType::kE4M3:
      return launch_exact<__nv_fp8_e4m3, true>(parts, x, stream);
    case ElementType::kInt8:
      return;  // has inputs of its own
  }
}

}  // namespace ingot::cuda
