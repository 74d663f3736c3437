// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/input_rounding.h"

namespace ingot::ref {

void round_int8_f32(const RoundArgs& args, int64_t begin, int64_t end);
void round_int8_q8g32(const RoundArgs& args, int64_t begin, int64_t end);
void round_e4m3_f32(const RoundArgs& args, int64_t begin, int64_t end);
void round_e4m3_bf16(const RoundArgs& args, int64_t begin, int64_t end);

}  // namespace ingot::ref
