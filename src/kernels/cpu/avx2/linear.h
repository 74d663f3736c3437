// SPDX-License-Identifier: Apache-2.0
// The AVX2 linear kernels, entered in linear_list.cc.
#pragma once

#include "kernels/linear.h"

namespace ingot::cpu {

// Float activations: linear_float.cc.
void linear_f32_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_f16_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_bf16_avx2(const LinearArgs& args, int64_t begin, int64_t end);
// Any other layout: decodes rows to float, then as F32.
void linear_decode_avx2(const LinearArgs& args, int64_t begin, int64_t end);

}  // namespace ingot::cpu
