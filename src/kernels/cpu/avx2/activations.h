// SPDX-License-Identifier: Apache-2.0
// The AVX2 packers, entered in activations_list.cc.
#pragma once

#include "kernels/activations.h"

namespace ingot::cpu {

void pack_q8g32_avx2(const PackArgs& args, int64_t begin, int64_t end);
void pack_i16g128_avx2(const PackArgs& args, int64_t begin, int64_t end);
void pack_q8g256_avx2(const PackArgs& args, int64_t begin, int64_t end);

}  // namespace ingot::cpu
