// SPDX-License-Identifier: Apache-2.0
// Linear kernels for AVX2.
#pragma once

#include "kernels/cpu/tile_tokens.h"
#include "kernels/linear.h"

namespace ingot::cpu {

// From which on levels that do not fit seven bits are multiplied as words (group_words.h).
inline constexpr int64_t kAvx2WordsTokens = tile_tokens(8) + 1;

void linear_rows_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_f32_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_f16words_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_f16_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_bf16_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups4_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups4min_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups5_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups5min_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups8_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups_iq4_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups_nf4bytes_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups_fp4_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups_fp4bytes_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks2min_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks3_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks4min_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks5min_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks6_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks_iq4_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups2zero_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups3zero_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups4zero_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups8zero_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups_nf4_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups_bnb_fp4_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_f8_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups1_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups2_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups_nvfp4_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks2_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks_iq1_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks_iq1m_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks_iq2_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks_iq3xxs_avx2(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks_iq3s_avx2(const LinearArgs& args, int64_t begin, int64_t end);

}  // namespace ingot::cpu
