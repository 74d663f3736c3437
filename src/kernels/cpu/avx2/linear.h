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

// Activations in groups of 32: linear_q8g32.cc.
void linear_q4_0_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_q4_1_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_q5_0_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_q5_1_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_q8_0_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_iq4_nl_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_mxfp4_avx2(const LinearArgs& args, int64_t begin, int64_t end);

// Activations in groups of 256: linear_q8g256.cc.
void linear_q2_k_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_q3_k_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_q4_k_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_q5_k_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_q6_k_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_iq4_xs_avx2(const LinearArgs& args, int64_t begin, int64_t end);

}  // namespace ingot::cpu
