// SPDX-License-Identifier: Apache-2.0
// The AVX-512 norm, entered in norm_list.cc.
#pragma once

#include "kernels/norm.h"

namespace ingot::cpu {

void norm_avx512(const NormArgs& args, int64_t begin, int64_t end);

}  // namespace ingot::cpu
