// SPDX-License-Identifier: Apache-2.0
// The AVX-512 rotation, entered in rope_list.cc.
#pragma once

#include "kernels/rope.h"

namespace ingot::cpu {

void rope_avx512(const RopeArgs& args, int64_t begin, int64_t end);

}  // namespace ingot::cpu
