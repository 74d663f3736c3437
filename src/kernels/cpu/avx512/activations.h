// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/activations.h"

namespace ingot::cpu {

void pack_q8g256_avx512(const PackArgs& args, int64_t begin, int64_t end);
void pack_i16g128_avx512(const PackArgs& args, int64_t begin, int64_t end);
void pack_bf16_avx512(const PackArgs& args, int64_t begin, int64_t end);

}  // namespace ingot::cpu
