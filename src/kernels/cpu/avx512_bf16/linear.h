// SPDX-License-Identifier: Apache-2.0
// Linear kernels for AVX-512 with dot products of bf16 (and VBMI).
#pragma once

#include "kernels/linear.h"

namespace ingot::cpu {

void linear_bf16pairs_avx512_bf16(const LinearArgs& args, int64_t begin, int64_t end);
void linear_f8pairs_avx512_bf16(const LinearArgs& args, int64_t begin, int64_t end);

}  // namespace ingot::cpu
