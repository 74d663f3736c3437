// SPDX-License-Identifier: Apache-2.0
// What the attention kernels do alike on the device: finding a position's rows, loading and
// rotating queries, logits, and joining partial results. Logits are in powers of two: exp2 is one
// instruction.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/attention_paths.h"

namespace ingot::cuda {

inline constexpr float kLog2E = 1.44269504088896340736F;
inline constexpr unsigned kAllLanes = 0xFFFFFFFFu;

__device__ __forceinline__ float minus_infinity() {
  return __uint_as_float(0xFF800000u);
}
__device__ __forceinline__ float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
// exp2(x - largest), 0 where there was nothing.
__device__ __forceinline__ float share_of(float x, float largest) {
  return x == minus_infinity() ? 0.0F : exp2_fast(x - largest);
}
// tanh with an error of a few 1e-7, which a cap multiplies; the instruction's is 5e-4.
__device__ __forceinline__ float tanh_from_exp2(float x) {
  return 1.0F - __fdividef(2.0F, 1.0F + exp2_fast(2.0F * kLog2E * x));
}

__host__ __device__ constexpr bool rotates_keys(KvType type) {
  return type == KvType::kFp8E4M3 || type == KvType::kFp8E5M2 || type == KvType::kInt4;
}

// Running softmax of one row. A part is joined by the same roundings everywhere.
struct Share {
  float old_part;
  float new_part;
};
__device__ __forceinline__ Share join_largest(float& largest, float added) {
  const float both = fmaxf(largest, added);
  const Share share{share_of(largest, both), share_of(added, both)};
  largest = both;
  return share;
}
__device__ __forceinline__ float join(float total, float part, Share share) {
  return __fmaf_rn(part, share.new_part, __fmul_rn(total, share.old_part));
}
// What weighted values are multiplied by in the end. `sink` is one more logit, without a value.
__device__ __forceinline__ float last_factor(float largest, float sum, const float* sinks,
                                             int head) {
  if (sinks == nullptr) return __fdiv_rn(1.0F, sum);
  const float sink = __fmul_rn(sinks[head], kLog2E);
  const float both = fmaxf(largest, sink);
  const float share = share_of(largest, both);
  return __fdiv_rn(share, __fmaf_rn(sum, share, exp2_fast(sink - both)));
}

struct LogitArgs {
  float scale;
  float softcap;
  float slope;
};
__device__ __forceinline__ float logit_of(float score, const LogitArgs& args, int distance) {
  float logit = __fmul_rn(score, args.scale);
  if (args.softcap != 0) logit = __fmul_rn(args.softcap, tanh_from_exp2(logit / args.softcap));
  if (args.slope != 0) logit = __fmaf_rn(args.slope, static_cast<float>(distance), logit);
  return __fmul_rn(logit, kLog2E);
}

// The first position that a row at `position` sees.
__device__ __forceinline__ int first_seen(int position, int window) {
  return window > 0 ? max(0, position + 1 - window) : 0;
}

// A Hadamard rotation as rotate_key() of attention_rotate.cc does it, to the same bits: lane l of a
// warp has elements 32 j + l, of a row whose length is a multiple of `size`, a power of two.
template <int kCount>
__device__ __forceinline__ void rotate(float (&x)[kCount], int size, int lane) {
  for (int half = 1; half < size && half < 32; half *= 2) {
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
      const float other = __shfl_xor_sync(kAllLanes, x[j], half);
      x[j] = (lane & half) != 0 ? other - x[j] : x[j] + other;
    }
  }
#pragma unroll
  for (int step = 1; step < kCount; step *= 2) {
    if (size <= 32 * step) continue;
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
      if ((j & step) != 0 || j + step >= kCount) continue;
      const float a = x[j];
      const float b = x[j + step];
      x[j] = a + b;
      x[j + step] = a - b;
    }
  }
  const float scale = __frcp_rn(__fsqrt_rn(static_cast<float>(size)));
#pragma unroll
  for (int j = 0; j < kCount; ++j)
    x[j] *= scale;
}

// One row of a warp on its way, lane l's elements 32 j + l: what they are and what turns them.
// Loads are apart from their use, so that those of several rows can go out together.
template <int kCount>
struct LoadedRow {
  float x[kCount];
  float other[kCount];  // the element that it turns with
  float cos[kCount];
  float sin[kCount];
};
// Zeros beyond the row's end or where there is no row; nothing is read for them.
template <int kCount>
__device__ __forceinline__ void load_row(const float* from, int dim, const RopeRows& rope, int row,
                                         bool is_row, int lane, LoadedRow<kCount>& loaded) {
  loaded = {};
  if (!is_row) return;
#pragma unroll
  for (int j = 0; j < kCount; ++j) {
    const int i = 32 * j + lane;
    const bool is_there = i < dim;
    const bool turns = is_there && rope.cos != nullptr && i < 2 * rope.pairs;
    const bool is_first = rope.in_halves ? i < rope.pairs : i % 2 == 0;
    const int other = rope.in_halves ? (is_first ? i + rope.pairs : i - rope.pairs) : i ^ 1;
    const int pair = rope.in_halves ? min(i, other) : i / 2;
    if (is_there) loaded.x[j] = from[i];
    if (turns) {
      loaded.other[j] = from[other];
      loaded.cos[j] = rope.cos[row * rope.pairs + pair];
      loaded.sin[j] = rope.sin[row * rope.pairs + pair];
    }
  }
}
// Rotated by position.
template <int kCount>
__device__ __forceinline__ void turn_row(const LoadedRow<kCount>& loaded, const RopeRows& rope,
                                         int lane, float (&x)[kCount]) {
#pragma unroll
  for (int j = 0; j < kCount; ++j) {
    const int i = 32 * j + lane;
    const bool is_first = rope.in_halves ? i < rope.pairs : i % 2 == 0;
    const float own = __fmul_rn(loaded.x[j], loaded.cos[j]);
    const float others = __fmul_rn(loaded.other[j], loaded.sin[j]);
    const float turned = is_first ? __fsub_rn(own, others) : __fadd_rn(own, others);
    x[j] = rope.cos != nullptr && i < 2 * rope.pairs ? turned : loaded.x[j];
  }
}
// Both, an element at a time, where registers are few.
template <int kCount>
__device__ __forceinline__ void load_rotated(const float* from, int dim, const RopeRows& rope,
                                             int row, bool is_row, int lane, float (&x)[kCount]) {
#pragma unroll
  for (int j = 0; j < kCount; ++j) {
    LoadedRow<1> loaded;
    float one[1];
    load_row(from, dim, rope, row, is_row, 32 * j + lane, loaded);
    turn_row(loaded, rope, 32 * j + lane, one);
    x[j] = one[0];
  }
}

// One query row, rotated too if the cache's keys are.
template <int kCount>
__device__ __forceinline__ void load_query(const AttentionArgs& args, int row, int head,
                                           bool is_row, int lane, float (&x)[kCount]) {
  const int dim = args.kv.key_dim;
  const float* q = args.q + row * args.q_stride + static_cast<int64_t>(head) * dim;
  load_rotated(q, dim, args.rope, row, is_row, lane, x);
  if (rotates_keys(args.kv.type)) rotate(x, dim & -dim, lane);
}

// Two 8-bit floats as a pair of f16, exactly. Before there was an instruction for it: e5m2 is the
// upper half of an f16, e4m3 has an exponent of one bit less, whose bias a product makes up for.
template <__nv_fp8_interpretation_t kKind>
__device__ __forceinline__ uint32_t fp8_pair_to_half(uint32_t pair) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 890
  const uint32_t upper = __byte_perm(pair, 0, 0x1404);
  if constexpr (kKind == __NV_E5M2) return upper;
  const uint32_t magnitude = (upper & 0x7F007F00u) >> 1;
  const __half2 scaled = __hmul2(*reinterpret_cast<const __half2*>(&magnitude),
                                 __half2half2(__ushort_as_half(0x5C00)));  // 256
  const uint32_t nans = __vcmpeq2(magnitude, 0x3F803F80u) & 0x7FFF7FFFu;
  return *reinterpret_cast<const uint32_t*>(&scaled) | nans | (upper & 0x80008000u);
#else
  const __half2_raw halves =
      __nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(pair & 0xFFFFu), kKind);
  return static_cast<uint32_t>(halves.x) | (static_cast<uint32_t>(halves.y) << 16);
#endif
}
// Four signed bytes as two pairs of f16, exactly: 1024 + (byte + 128) by putting the bits in place.
struct HalfPairs {
  uint32_t low;   // bytes 0 and 1
  uint32_t high;  // bytes 2 and 3
};
__device__ __forceinline__ HalfPairs int8_to_half(uint32_t bytes) {
  const uint32_t biased = bytes ^ 0x80808080u;
  const uint32_t low = __byte_perm(biased, 0x64646464u, 0x4140);
  const uint32_t high = __byte_perm(biased, 0x64646464u, 0x4342);
  const __half2 base = __half2half2(__ushort_as_half(0x6480));  // 1152
  const __half2 a = __hsub2(*reinterpret_cast<const __half2*>(&low), base);
  const __half2 b = __hsub2(*reinterpret_cast<const __half2*>(&high), base);
  return {*reinterpret_cast<const uint32_t*>(&a), *reinterpret_cast<const uint32_t*>(&b)};
}
__device__ __forceinline__ uint32_t multiply_halves(uint32_t a, uint32_t b) {
  const __half2 product =
      __hmul2(*reinterpret_cast<const __half2*>(&a), *reinterpret_cast<const __half2*>(&b));
  return *reinterpret_cast<const uint32_t*>(&product);
}
// kCount words from an even address in shared memory. Reads up to one word more.
template <int kCount>
__device__ __forceinline__ void load_even(const uint8_t* from, uint32_t (&to)[kCount]) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(from));
  const auto* words = reinterpret_cast<const uint32_t*>(from - (address & 2));
  const uint32_t shift = (address & 2) * 8;
  uint32_t low = words[0];
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const uint32_t high = words[i + 1];
    to[i] = __funnelshift_r(low, high, shift);
    low = high;
  }
}

}  // namespace ingot::cuda
