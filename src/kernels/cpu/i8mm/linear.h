// SPDX-License-Identifier: Apache-2.0
// Linear kernels for NEON with int8 matrix products.
#pragma once

#include "kernels/linear.h"

namespace ingot::cpu {

void linear_groups4_i8mm(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups4min_i8mm(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups5_i8mm(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups5min_i8mm(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups8_i8mm(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups_iq4_i8mm(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups_nf4bytes_i8mm(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups_fp4_i8mm(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups_fp4bytes_i8mm(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks2min_i8mm(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks3_i8mm(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks4min_i8mm(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks5min_i8mm(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks6_i8mm(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks_iq4_i8mm(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups2zero_i8mm(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups3zero_i8mm(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups4zero_i8mm(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups8zero_i8mm(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups1_i8mm(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups2_i8mm(const LinearArgs& args, int64_t begin, int64_t end);
void linear_groups_nvfp4_i8mm(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks2_i8mm(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks_iq1_i8mm(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks_iq1m_i8mm(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks_iq2_i8mm(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks_iq3xxs_i8mm(const LinearArgs& args, int64_t begin, int64_t end);
void linear_blocks_iq3s_i8mm(const LinearArgs& args, int64_t begin, int64_t end);

}  // namespace ingot::cpu
