// SPDX-License-Identifier: Apache-2.0
// Linear kernels for AMX tiles.
#pragma once

#include "kernels/linear.h"

namespace ingot::cpu {

// From this many on, tokens come in tiles; fewer go the AVX-512 way.
inline constexpr int64_t kAmxTokens = 27;

void linear_groups4_amx(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups4min_amx(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups5_amx(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups5min_amx(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups8_amx(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups_iq4_amx(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups_nf4bytes_amx(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups_fp4_amx(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups_fp4bytes_amx(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups2zero_amx(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups3zero_amx(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups4zero_amx(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups8zero_amx(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks2min_amx(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks3_amx(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks4min_amx(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks5min_amx(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks6_amx(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks_iq4_amx(const LinearArgs& args, int64_t begin, int64_t end);
void linear_bf16pairs_amx(const LinearArgs& args, int64_t begin, int64_t end);
void linear_f16words_amx(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups1_amx(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups2_amx(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks2_amx(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks_iq1_amx(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks_iq1m_amx(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks_iq2_amx(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks_iq3xxs_amx(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks_iq3s_amx(const LinearArgs& args, int64_t begin, int64_t end);

}  // namespace ingot::cpu
