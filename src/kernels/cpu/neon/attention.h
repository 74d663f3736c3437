// SPDX-License-Identifier: Apache-2.0
// The NEON attention parts, entered in attention_list.cc.
#pragma once

#include "kernels/attention_parts.h"

namespace ingot::cpu {

extern const KvCodec kCodecF32;
extern const KvCodec kCodecF16;
extern const KvCodec kCodecBf16;
extern const KvCodec kCodecFp8E4M3;
extern const KvCodec kCodecFp8E5M2;
extern const KvCodec kCodecInt8;
extern const KvCodec kCodecInt4;
extern const AttentionMath kAttentionMath;

}  // namespace ingot::cpu
