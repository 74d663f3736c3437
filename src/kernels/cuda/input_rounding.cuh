// SPDX-License-Identifier: Apache-2.0
// Inputs rounded as a checkpoint says: the scale of a row or a part of it, and the codes. The same
// arithmetic as kernels/input_scale.h, so that every device makes the same codes.
#pragma once

#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "kernels/cuda/cluster.cuh"
#include "kernels/cuda/inputs.h"
#include "kernels/cuda/reduce.cuh"

namespace ingot::cuda {

inline constexpr int kSpan = 128;  // columns that have a scale in every form
inline constexpr uint32_t kInfinityBits = 0x7F800000;

__device__ inline uint32_t magnitude_bits(float value) {
  return __float_as_uint(value) & 0x7FFFFFFFu;
}

struct Scale {
  float scale;
  float zero;
  bool is_usable;  // not: all codes are zero
};

// kIsInt8: what quant.kind says.
template <bool kIsInt8>
__device__ inline Scale input_scale(const InputQuant& quant, uint32_t bits, float least,
                                    float most) {
  constexpr float kSmallestInput = 0x1p-110f;
  if (bits >= kInfinityBits) return {__uint_as_float(0x7FC00000), 0, false};
  if (quant.scale > 0) return {quant.scale, static_cast<float>(quant.zero), true};
  float largest = __uint_as_float(bits);
  if (largest < kSmallestInput) return {0, 0, false};
  if (quant.limit > 0 && largest > quant.limit) largest = quant.limit;
  if (kIsInt8 && !quant.is_symmetric) {
    least = least < 0 ? least : 0;
    most = most > 0 ? most : 0;
    const float scale = (most - least) / 255;
    return {scale, -128 - rintf(least / scale), true};
  }
  float scale = largest / (kIsInt8 ? 127.0f : 448.0f);
  if (quant.has_powers) scale = __uint_as_float((__float_as_uint(scale) + 0x7FFFFF) & 0xFF800000u);
  return {scale, 0, true};
}

// What a scale is made of; int8 alone has use for the least and the most.
struct InputRange {
  uint32_t bits = 0;
  float least = 0;
  float most = 0;

  __device__ void take(float value) {
    bits = max(bits, magnitude_bits(value));
    least = fminf(least, value);
    most = fmaxf(most, value);
  }
  // What all threads of a block took; every thread calls it. A barrier before the next call.
  template <bool kIsInt8>
  __device__ InputRange of_block(const InputQuant& quant) const {
    __shared__ uint32_t bit_slots[32];
    InputRange all;
    const int lane = threadIdx.x % 32;
    const uint32_t of_warp = __reduce_max_sync(0xFFFFFFFF, bits);
    if (lane == 0) bit_slots[threadIdx.x / 32] = of_warp;
    __syncthreads();
    all.bits = __reduce_max_sync(0xFFFFFFFF,
                                 lane < static_cast<int>(blockDim.x) / 32 ? bit_slots[lane] : 0);
    if (kIsInt8 && !quant.is_symmetric) {
      __shared__ float slots[32];
      all.least = block_reduce(least, Min{}, slots);
      all.most = block_reduce(most, Max{}, slots);
    }
    return all;
  }
  // What all blocks of a cluster took, given each one's own.
  template <bool kIsInt8>
  __device__ InputRange of_cluster(ClusterLetters<kIsInt8 ? 3 : 1>& letters) const {
    if (cluster_size() == 1) return *this;
    if constexpr (kIsInt8) {
      letters.exchange({bits, __float_as_uint(least), __float_as_uint(most)});
    } else {
      letters.exchange({bits});
    }
    InputRange result;
    for (int i = 0; i < cluster_size(); ++i) {
      result.bits = max(result.bits, letters.from[i][0]);
      if constexpr (kIsInt8) {
        result.least = fminf(result.least, __uint_as_float(letters.from[i][1]));
        result.most = fmaxf(result.most, __uint_as_float(letters.from[i][2]));
      }
    }
    return result;
  }
  template <bool kIsInt8>
  __device__ Scale scale(const InputQuant& quant) const {
    return input_scale<kIsInt8>(quant, bits, least, most);
  }
};

__device__ inline float int8_code(float x, const Scale& scale) {
  if (!scale.is_usable) return scale.zero;
  const float code = fminf(fmaxf(x / scale.scale, -512.0f), 512.0f);
  return fminf(fmaxf(rintf(code) + scale.zero, -128.0f), 127.0f);
}
__device__ inline __nv_fp8_storage_t e4m3_code(float x, const Scale& scale) {
  if (!scale.is_usable) return 0;
  return __nv_cvt_float_to_fp8(x / scale.scale, __NV_SATFINITE, __NV_E4M3);
}
__device__ inline __half_raw e4m3_value(float x, const Scale& scale) {
  return __nv_cvt_fp8_to_halfraw(e4m3_code(x, scale), __NV_E4M3);
}

constexpr bool is_rounded(PackedRows::Kind kind) {
  return kind == PackedRows::Kind::kE4m3AsF16 || kind == PackedRows::Kind::kE4m3 ||
         kind == PackedRows::Kind::kInt8;
}
constexpr int code_bits(PackedRows::Kind kind) {
  return kind == PackedRows::Kind::kE4m3AsF16 ? 16 : 8;
}
// The code of an input, code_bits() of them.
template <PackedRows::Kind kKind>
__device__ inline uint32_t code_of(float x, const Scale& scale) {
  static_assert(is_rounded(kKind));
  if constexpr (kKind == PackedRows::Kind::kE4m3AsF16) return e4m3_value(x, scale).x;
  if constexpr (kKind == PackedRows::Kind::kE4m3) return e4m3_code(x, scale);
  return static_cast<uint8_t>(static_cast<int8_t>(int8_code(x, scale)));
}

// What a token has once.
__device__ inline void write_row_scale(const RowScales& out, int64_t token, const Scale& scale) {
  if (out.spans == 0) out.scales[token] = scale.scale;
  if (out.shifts != nullptr) out.shifts[token] = scale.scale * scale.zero;
}
// Of codes for the library; f16 numbers have the scales of a token together.
template <PackedRows::Kind kKind>
__device__ inline void write_span_scale(const RowScales& out, int64_t token, int64_t span,
                                        const Scale& scale) {
  if (span >= out.spans) return;
  if constexpr (kKind == PackedRows::Kind::kE4m3AsF16) {
    out.scales[token * out.spans + span] = scale.scale;
  } else {
    const auto each = static_cast<uint32_t>(out.tiles.each);
    const uint32_t tile = static_cast<uint32_t>(token) / each;
    const bool is_last = tile == static_cast<uint32_t>(out.tokens) / each;
    const int64_t width = is_last ? out.tiles.last : out.tiles.each;
    const int64_t before = static_cast<int64_t>(tile) * out.tiles.each;
    out.scales[before * out.spans + span * width + (token - before)] = scale.scale;
  }
}

}  // namespace ingot::cuda
