// SPDX-License-Identifier: Apache-2.0
// The AVX-512 attention parts, entered in attention_list.cc.
#pragma once

#include "kernels/attention_parts.h"

namespace ingot::cpu {

extern const KvCodec kCodecF32Avx512;
extern const KvCodec kCodecF16Avx512;
extern const KvCodec kCodecBf16Avx512;
extern const KvCodec kCodecFp8E4M3Avx512;
extern const KvCodec kCodecFp8E5M2Avx512;
extern const KvCodec kCodecInt8Avx512;
extern const KvCodec kCodecInt4Avx512;
extern const AttentionMath kAttentionMathAvx512;

}  // namespace ingot::cpu
