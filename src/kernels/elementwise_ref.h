// SPDX-License-Identifier: Apache-2.0
// The scalar elementwise ops, entered in elementwise_list.cc.
#pragma once

#include "kernels/elementwise.h"

namespace ingot::ref {

void activate(Activation activation, const float* gate, const float* up, float* out, int64_t count);
void add_scaled(float* y, const float* x, float factor, int64_t count);
void softcap(float* y, float cap, int64_t count);

}  // namespace ingot::ref
