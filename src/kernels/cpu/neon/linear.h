// SPDX-License-Identifier: Apache-2.0
// Linear kernels for NEON with dot products.
#pragma once

#include "kernels/linear.h"

namespace ingot::cpu {

void linear_rows_neon(const LinearArgs& args, int64_t begin, int64_t end);
void linear_f32_neon(const LinearArgs& args, int64_t begin, int64_t end);
void linear_f16_neon(const LinearArgs& args, int64_t begin, int64_t end);
void linear_bf16_neon(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups4_neon(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups4min_neon(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups5_neon(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups5min_neon(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups8_neon(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups_iq4_neon(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups_nf4bytes_neon(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups_fp4_neon(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups_fp4bytes_neon(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks2min_neon(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks3_neon(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks4min_neon(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks5min_neon(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks6_neon(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks_iq4_neon(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups2zero_neon(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups3zero_neon(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups4zero_neon(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups8zero_neon(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups1_neon(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups2_neon(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups_nvfp4_neon(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks2_neon(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks_iq1_neon(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks_iq1m_neon(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks_iq2_neon(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks_iq3xxs_neon(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks_iq3s_neon(const LinearArgs& args, int64_t begin, int64_t end);

}  // namespace ingot::cpu
