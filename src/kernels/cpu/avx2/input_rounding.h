// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/input_rounding.h"

namespace ingot::cpu {

void round_int8_q8g32_avx2(const RoundArgs& args, int64_t begin, int64_t end);
void round_e4m3_f32_avx2(const RoundArgs& args, int64_t begin, int64_t end);
void round_e4m3_bf16_avx2(const RoundArgs& args, int64_t begin, int64_t end);

}  // namespace ingot::cpu
