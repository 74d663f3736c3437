// SPDX-License-Identifier: Apache-2.0
// The AVX2 elementwise ops, entered in elementwise_list.cc.
#pragma once

#include "kernels/elementwise.h"

namespace ingot::cpu {

void activate_avx2(Activation activation, const float* gate, const float* up, float* out,
                   int64_t count);
void add_scaled_avx2(float* y, const float* x, float factor, int64_t count);
void softcap_avx2(float* y, float cap, int64_t count);

}  // namespace ingot::cpu
