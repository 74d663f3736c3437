// SPDX-License-Identifier: Apache-2.0
// Linear kernels for AVX-512 with VNNI.
#pragma once

#include "kernels/linear.h"

namespace ingot::cpu {

void linear_rows_avx512(const LinearArgs& args, int64_t begin, int64_t end);
void linear_f32_avx512(const LinearArgs& args, int64_t begin, int64_t end);
void linear_f16_avx512(const LinearArgs& args, int64_t begin, int64_t end);
void linear_f16words_avx512(const LinearArgs& args, int64_t begin, int64_t end);
void linear_bf16_avx512(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups4_avx512(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups4min_avx512(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups5_avx512(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups5min_avx512(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups8_avx512(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups_iq4_avx512(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups_nf4bytes_avx512(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups_fp4_avx512(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups_fp4bytes_avx512(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks2min_avx512(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks3_avx512(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks4min_avx512(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks5min_avx512(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks6_avx512(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks_iq4_avx512(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups2zero_avx512(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups3zero_avx512(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups4zero_avx512(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups8zero_avx512(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups_nf4_avx512(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups_bnb_fp4_avx512(const LinearArgs& args, int64_t begin, int64_t end);
void linear_f8_avx512(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups1_avx512(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups2_avx512(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups_nvfp4_avx512(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks2_avx512(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks_iq1_avx512(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks_iq1m_avx512(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks_iq2_avx512(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks_iq3xxs_avx512(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks_iq3s_avx512(const LinearArgs& args, int64_t begin, int64_t end);

}  // namespace ingot::cpu
