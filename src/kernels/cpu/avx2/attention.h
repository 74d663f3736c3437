// SPDX-License-Identifier: Apache-2.0
// The AVX2 attention parts, entered in attention_list.cc.
#pragma once

#include "kernels/attention_parts.h"

namespace ingot::cpu {

// Rows are written by these on every x86 target: little work, one truth.
void store_f32_avx2(const float* from, int64_t dim, std::byte* row);
void store_f16_avx2(const float* from, int64_t dim, std::byte* row);
void store_bf16_avx2(const float* from, int64_t dim, std::byte* row);
void store_fp8_e4m3_avx2(const float* from, int64_t dim, std::byte* row);
void store_fp8_e5m2_avx2(const float* from, int64_t dim, std::byte* row);
void store_int8_avx2(const float* from, int64_t dim, std::byte* row);
void store_int4_avx2(const float* from, int64_t dim, std::byte* row);

extern const KvCodec kCodecF32;
extern const KvCodec kCodecF16;
extern const KvCodec kCodecBf16;
extern const KvCodec kCodecFp8E4M3;
extern const KvCodec kCodecFp8E5M2;
extern const KvCodec kCodecInt8;
extern const KvCodec kCodecInt4;
extern const AttentionMath kAttentionMath;

}  // namespace ingot::cpu
