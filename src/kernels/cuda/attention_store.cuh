// SPDX-License-Identifier: Apache-2.0
// A new key or value on its way to its page, to the bytes of attention_codec_ref.cc. A warp takes
// one row of one kv head: lane l has elements 32 j + l. Keys of fp8 and int4 are turned by a
// Hadamard matrix first.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "kernels/cuda/attention_device.cuh"
#include "kernels/cuda/attention_paths.h"

namespace ingot::cuda {

__device__ inline bool is_nan(float value) {
  return value != value;
}
__device__ inline bool is_finite(float value) {
  return fabsf(value) <= 3.402823466e+38F;
}
__device__ inline uint16_t half_bits(float value) {
  if (is_nan(value))
    return static_cast<uint16_t>(((__float_as_uint(value) >> 16) & 0x8000u) | 0x7E00u);
  return __half_as_ushort(__float2half_rn(value));
}
__device__ inline float half_rounded(float value) {
  return __half2float(__float2half_rn(value));
}
__device__ inline uint16_t bfloat16_bits(float value) {
  const uint32_t bits = __float_as_uint(value);
  if (is_nan(value)) return static_cast<uint16_t>((bits >> 16) | 0x0040u);
  return static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}
template <__nv_fp8_interpretation_t kKind>
__device__ inline uint8_t fp8_bits(float value) {
  const auto sign = static_cast<uint8_t>((__float_as_uint(value) >> 24) & 0x80u);
  if (is_nan(value)) return static_cast<uint8_t>(sign | (kKind == __NV_E4M3 ? 0x7Fu : 0x7Eu));
  return __nv_cvt_float_to_fp8(value, __NV_SATFINITE, kKind);
}

__device__ inline float warp_max(float value) {
  for (int mask = 16; mask > 0; mask /= 2)
    value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, mask));
  return value;
}
__device__ inline float warp_min(float value) {
  return -warp_max(-value);
}
__device__ inline void put_half(uint16_t bits, std::byte* to) {  // maybe at an odd address
  to[0] = static_cast<std::byte>(bits & 0xFFu);
  to[1] = static_cast<std::byte>(bits >> 8);
}
constexpr float kLargestHalf = 65504.0F;
constexpr uint16_t kHalfNan = 0x7E00;
__device__ inline float rounded_scale(float scale) {
  return half_rounded(fminf(scale, kLargestHalf));
}

template <int kCount>
__device__ inline bool is_all_finite(const float (&x)[kCount], int dim, int lane) {
  bool is_good = true;
#pragma unroll
  for (int j = 0; j < kCount; ++j)
    is_good = is_good && (32 * j + lane >= dim || is_finite(x[j]));
  return __all_sync(kAllLanes, is_good) != 0;
}

template <int kCount>
__device__ inline void store_int8(const float (&x)[kCount], int dim, int lane, std::byte* row) {
  const bool is_good = is_all_finite(x, dim, lane);
  float largest = 0;
#pragma unroll
  for (int j = 0; j < kCount; ++j)
    largest = fmaxf(largest, 32 * j + lane < dim ? fabsf(x[j]) : 0.0F);
  const float scale = rounded_scale(__fdiv_rn(warp_max(largest), 127.0F));
  const float inverse = scale > 0 ? __frcp_rn(scale) : 0.0F;
#pragma unroll
  for (int j = 0; j < kCount; ++j) {
    if (32 * j + lane >= dim) continue;
    const float code = rintf(fminf(fmaxf(__fmul_rn(x[j], inverse), -127.0F), 127.0F));
    const int whole = is_good ? static_cast<int>(code) : 0;
    row[32 * j + lane] = static_cast<std::byte>(static_cast<uint8_t>(whole & 0xFF));
  }
  if (lane == 0) put_half(is_good ? half_bits(scale) : kHalfNan, row + dim);
}

template <int kCount>
__device__ inline void store_int4(const float (&x)[kCount], int dim, int lane, std::byte* row) {
  const int code_bytes = (dim + 1) / 2;
  const bool is_good = is_all_finite(x, dim, lane);
  float low = __uint_as_float(0x7F800000u);
  float high = minus_infinity();
#pragma unroll
  for (int j = 0; j < kCount; ++j) {
    if (32 * j + lane >= dim) continue;
    low = fminf(low, x[j]);
    high = fmaxf(high, x[j]);
  }
  low = warp_min(low);
  high = warp_max(high);
  const float base = half_rounded(fminf(fmaxf(low, -kLargestHalf), kLargestHalf) + 0.0F);
  const float scale = rounded_scale(__fdiv_rn(__fsub_rn(high, low), 15.0F));
  const float inverse = scale > 0 ? __frcp_rn(scale) : 0.0F;
#pragma unroll
  for (int j = 0; j < kCount; ++j) {
    const int i = 32 * j + lane;
    const float code = rintf(fminf(fmaxf(__fmul_rn(__fsub_rn(x[j], base), inverse), 0.0F), 15.0F));
    const unsigned whole = is_good && i < dim ? static_cast<unsigned>(code) : 0u;
    const unsigned next = __shfl_down_sync(kAllLanes, whole, 1);
    if (lane % 2 == 0 && i < dim)
      row[i / 2] = static_cast<std::byte>(static_cast<uint8_t>(whole | (next << 4)));
  }
  if (lane == 0) {
    put_half(is_good ? half_bits(scale) : kHalfNan, row + code_bytes);
    put_half(is_good ? half_bits(base) : kHalfNan, row + code_bytes + 2);
  }
}

template <int kCount, bool kIsKey>
__device__ inline void store_row(KvType type, float (&x)[kCount], int dim, int lane,
                                 std::byte* row) {
  if (kIsKey && rotates_keys(type)) rotate(x, dim & -dim, lane);
  if (type == KvType::kInt8) return store_int8(x, dim, lane, row);
  if (type == KvType::kInt4) return store_int4(x, dim, lane, row);
#pragma unroll
  for (int j = 0; j < kCount; ++j) {
    const int i = 32 * j + lane;
    if (i >= dim) continue;
    switch (type) {
      case KvType::kF32:
        reinterpret_cast<float*>(row)[i] = x[j];
        break;
      case KvType::kF16:
        reinterpret_cast<uint16_t*>(row)[i] = half_bits(x[j]);
        break;
      case KvType::kBF16:
        reinterpret_cast<uint16_t*>(row)[i] = bfloat16_bits(x[j]);
        break;
      default:  // keys of both kinds of fp8 are e4m3
        row[i] =
            static_cast<std::byte>(kIsKey || type == KvType::kFp8E4M3 ? fp8_bits<__NV_E4M3>(x[j])
                                                                      : fp8_bits<__NV_E5M2>(x[j]));
    }
  }
}

// Where a position's key of a head lies; null: it has no page.
__device__ inline std::byte* key_place(const DeviceKv& kv, const KvLayout& layout,
                                       const DeviceSequences& sequences, int sequence,
                                       int position) {
  const int page =
      sequences.pages[sequence * sequences.table_stride + (position >> layout.page_shift)];
  return page < 0 ? nullptr : kv.data + page * kv.page_stride;
}

// The key (or value) of a row and kv head, rotated by position, into its page.
template <int kCount, bool kIsKey>
__device__ inline void store_new(const DeviceKv& kv, const KvLayout& layout, const NewKv& fresh,
                                 const RopeRows& rope, int row, int head, int position, int lane,
                                 std::byte* page) {
  const int dim = kIsKey ? kv.key_dim : kv.value_dim;
  const float* from = kIsKey ? fresh.k + row * fresh.k_stride : fresh.v + row * fresh.v_stride;
  from += static_cast<int64_t>(head) * dim;
  float x[kCount];
  load_rotated(from, dim, kIsKey ? rope : RopeRows{}, row, true, lane, x);
  const int slot = position & (kv.page_tokens - 1);
  const int64_t place = static_cast<int64_t>(head) * kv.page_tokens + slot;
  std::byte* to = kIsKey ? page + place * layout.key_row_bytes
                         : page + layout.value_offset + place * layout.value_row_bytes;
  store_row<kCount, kIsKey>(kv.type, x, dim, lane, to);
}

}  // namespace ingot::cuda
