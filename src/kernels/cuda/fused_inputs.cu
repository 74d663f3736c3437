// SPDX-License-Identifier: Apache-2.0
// A warp has 256 columns of a token, a lane eight neighbouring ones: a group of 32 is four lanes, a
// group of 256 the warp.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/cuda/activation.cuh"
#include "kernels/cuda/byte_rows.cuh"
#include "kernels/cuda/fused_inputs.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/reduce.cuh"

namespace ingot::cuda {
namespace {

constexpr int kWarps = 16;
constexpr int kColumns = 256;   // of a warp at a time
constexpr int kMostBlocks = 4;  // that a warp keeps in registers between two passes over a row
constexpr float kSmallest = 0x1p-120f;
constexpr uint32_t kInfinityBits = 0x7F800000;

using Kind = PackedRows::Kind;

__device__ inline void load_8(const float* from, float (&to)[8]) {
  const float4 low = reinterpret_cast<const float4*>(from)[0];
  const float4 high = reinterpret_cast<const float4*>(from)[1];
  to[0] = low.x, to[1] = low.y, to[2] = low.z, to[3] = low.w;
  to[4] = high.x, to[5] = high.y, to[6] = high.z, to[7] = high.w;
}
__device__ inline void store_8(float* to, const float (&from)[8]) {
  reinterpret_cast<float4*>(to)[0] = make_float4(from[0], from[1], from[2], from[3]);
  reinterpret_cast<float4*>(to)[1] = make_float4(from[4], from[5], from[6], from[7]);
}

template <Kind kKind>
__device__ inline void pack_8(const float (&values)[8], int64_t token, int block,
                              const PackedRows& out) {
  const int lane = threadIdx.x % 32;
  if constexpr (kKind == Kind::kNone) {
    return;
  } else if constexpr (kKind == Kind::kF16 || kKind == Kind::kBF16) {
    const int64_t col = static_cast<int64_t>(block) * kColumns + lane * 8;
    if (col >= out.stride) return;
    uint32_t words[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if constexpr (kKind == Kind::kF16) {
        float pair[2];
#pragma unroll
        for (int k = 0; k < 2; ++k) {
          const float value = values[2 * i + k];
          pair[k] = isnan(value) ? value : fminf(fmaxf(value, -65504.0f), 65504.0f);
        }
        const __half2 two = __floats2half2_rn(pair[0], pair[1]);
        words[i] = *reinterpret_cast<const uint32_t*>(&two);
      } else {
        const __nv_bfloat162 two = __floats2bfloat162_rn(values[2 * i], values[2 * i + 1]);
        words[i] = *reinterpret_cast<const uint32_t*>(&two);
      }
    }
    auto* to = static_cast<uint16_t*>(out.values) + token * out.stride + col;
    *reinterpret_cast<uint4*>(to) = make_uint4(words[0], words[1], words[2], words[3]);
  } else {
    uint32_t bits = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i)
      bits = max(bits, __float_as_uint(values[i]) & 0x7FFFFFFFu);
    bits = warp_reduce(bits, Max{}, kKind == Kind::kBytes256 ? 32 : 4);
    const float largest = __uint_as_float(bits);
    const bool is_finite = bits < kInfinityBits;
    const bool is_usable = is_finite && largest >= kSmallest;
    const float inverse = is_usable ? 127.0f / largest : 0.0f;
    uint32_t words[2] = {0, 0};
    int sum = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const int code = is_usable ? __float2int_rn(values[i] * inverse) : 0;
      sum += code;
      words[i / 4] |= (static_cast<uint32_t>(code) & 0xFF) << (8 * (i % 4));
    }
    const ByteRows& bytes = out.bytes;
    *reinterpret_cast<uint2*>(codes_at(bytes, token, block * 8 + lane / 4) + lane % 4 * 8) =
        make_uint2(words[0], words[1]);
    sum += __shfl_xor_sync(0xFFFFFFFF, sum, 1);
    if (lane % 2 == 0) sum16_at(bytes, token, block * 16 + lane / 2) = static_cast<int16_t>(sum);
    sum += __shfl_xor_sync(0xFFFFFFFF, sum, 2);
    if (lane % 4 == 0) sum32_at(bytes, token, block * 8 + lane / 4) = static_cast<int16_t>(sum);
    const float scale =
        is_finite ? (is_usable ? largest / 127.0f : 0.0f) : __uint_as_float(0x7FC00000);
    if constexpr (kKind == Kind::kBytes256) {
      if (lane == 0) scale_at(bytes, token, block) = scale;
    } else {
      if (lane % 4 == 0) scale_at(bytes, token, block * 8 + lane / 4) = scale;
    }
  }
}

template <Kind kKind>
__global__ void __launch_bounds__(32 * kWarps)
    norm_kernel(const __grid_constant__ NormRows norm, const __grid_constant__ PackedRows out) {
  let_next_begin();
  __shared__ float slots[32];
  const int64_t token = blockIdx.x;
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int dim = static_cast<int>(norm.dim);
  const int blocks = (dim + kColumns - 1) / kColumns;
  float weights[kMostBlocks][8];  // constants, so that they need not wait
#pragma unroll
  for (int i = 0; i < kMostBlocks; ++i) {
    const int col = (warp + i * kWarps) * kColumns + lane * 8;
    if (norm.weight != nullptr && col < dim) load_8(norm.weight + col, weights[i]);
  }
  wait_for_inputs();
  float values[kMostBlocks][8];
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kMostBlocks; ++i) {
    const int col = (warp + i * kWarps) * kColumns + lane * 8;
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
    for (int i = 0; i < kMostBlocks; ++i) {
      if ((warp + i * kWarps) * kColumns + lane * 8 >= dim) continue;
#pragma unroll
      for (int k = 0; k < 8; ++k)
        sum += (values[i][k] - mean) * (values[i][k] - mean);
    }
    square = block_reduce(sum, Add{}, slots) / count;
  }
  const float factor = 1.0f / sqrtf(square + norm.eps);
#pragma unroll
  for (int i = 0; i < kMostBlocks; ++i) {
    const int block = warp + i * kWarps;
    if (block >= blocks) continue;
    const int col = block * kColumns + lane * 8;
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
    pack_8<kKind>(values[i], token, block, out);
  }
}

template <Kind kKind>
__global__ void __launch_bounds__(32 * kWarps)
    activation_kernel(const __grid_constant__ ActivationRows rows, int cols,
                      const __grid_constant__ PackedRows out) {
  let_next_begin();
  wait_for_inputs();
  const int64_t token = blockIdx.y;
  const int block = blockIdx.x * kWarps + threadIdx.x / 32;
  const int col = block * kColumns + threadIdx.x % 32 * 8;
  if (block * kColumns >= cols) return;
  float values[8] = {};
  if (col < cols) {
    const int64_t at = token * cols + col;
    load_8(rows.gate + at, values);
    if (rows.activation >= 0) {
      float up[8];
      if (rows.up != nullptr) load_8(rows.up + at, up);
#pragma unroll
      for (int k = 0; k < 8; ++k) {
        values[k] = activated(static_cast<Activation>(rows.activation), values[k]);
        if (rows.up != nullptr) values[k] *= up[k];
      }
      store_8(rows.out + at, values);
    }
  }
  pack_8<kKind>(values, token, block, out);
}

template <Kind kKind>
void launch_norm(const NormRows& norm, const PackedRows& out, Stream stream) {
  launch_early(norm_kernel<kKind>, {dim3(static_cast<unsigned>(norm.rows)), 32 * kWarps}, stream,
               norm, out);
}

template <Kind kKind>
void launch_activation(const ActivationRows& rows, int64_t tokens, int64_t cols,
                       const PackedRows& out, Stream stream) {
  const int64_t each = kColumns * kWarps;
  const dim3 grid(static_cast<unsigned>((cols + each - 1) / each), static_cast<unsigned>(tokens));
  launch_early(activation_kernel<kKind>, {grid, 32 * kWarps}, stream, rows, static_cast<int>(cols),
               out);
}

}  // namespace

bool can_fuse(int64_t cols) {
  return cols % 8 == 0;
}

bool can_fuse_norm(const NormRows& norm) {
  return can_fuse(norm.dim) && norm.dim <= kColumns * kWarps * kMostBlocks && norm.weight_rows == 1;
}

void normalize_and_pack(const NormRows& norm, const PackedRows& out, Stream stream) {
  switch (out.kind) {
    case Kind::kNone:
      return launch_norm<Kind::kNone>(norm, out, stream);
    case Kind::kBytes32:
      return launch_norm<Kind::kBytes32>(norm, out, stream);
    case Kind::kBytes256:
      return launch_norm<Kind::kBytes256>(norm, out, stream);
    case Kind::kF16:
      return launch_norm<Kind::kF16>(norm, out, stream);
    case Kind::kBF16:
      return launch_norm<Kind::kBF16>(norm, out, stream);
  }
}

void activate_and_pack(const ActivationRows& rows, int64_t tokens, int64_t cols,
                       const PackedRows& out, Stream stream) {
  switch (out.kind) {
    case Kind::kNone:
      return launch_activation<Kind::kNone>(rows, tokens, cols, out, stream);
    case Kind::kBytes32:
      return launch_activation<Kind::kBytes32>(rows, tokens, cols, out, stream);
    case Kind::kBytes256:
      return launch_activation<Kind::kBytes256>(rows, tokens, cols, out, stream);
    case Kind::kF16:
      return launch_activation<Kind::kF16>(rows, tokens, cols, out, stream);
    case Kind::kBF16:
      return launch_activation<Kind::kBF16>(rows, tokens, cols, out, stream);
  }
}

void pack_rows(const float* x, int64_t tokens, int64_t cols, const PackedRows& out, Stream stream) {
  activate_and_pack({-1, x, nullptr, nullptr}, tokens, cols, out, stream);
}

}  // namespace ingot::cuda
