// SPDX-License-Identifier: Apache-2.0
// The AVX-512 elementwise ops, entered in elementwise_list.cc.
#pragma once

#include "kernels/elementwise.h"

namespace ingot::cpu {

void activate_avx512(Activation activation, const float* gate, const float* up, float* out,
                     int64_t count);
void add_scaled_avx512(float* y, const float* x, float factor, int64_t count);
void softcap_avx512(float* y, float cap, int64_t count);

}  // namespace ingot::cpu
