// SPDX-License-Identifier: Apache-2.0
// The AVX2 attention parts, entered in attention_list.cc.
#pragma once

#include "kernels/attention_parts.h"

namespace ingot::cpu {

extern const AttentionParts kAttentionF32;
extern const AttentionParts kAttentionF16;
extern const AttentionParts kAttentionBf16;

}  // namespace ingot::cpu
