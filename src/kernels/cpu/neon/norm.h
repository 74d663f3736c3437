// SPDX-License-Identifier: Apache-2.0
// The NEON norm, entered in norm_list.cc.
#pragma once

#include "kernels/norm.h"

namespace ingot::cpu {

void norm_neon(const NormArgs& args, int64_t begin, int64_t end);

}  // namespace ingot::cpu
