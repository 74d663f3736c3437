// SPDX-License-Identifier: Apache-2.0
// The scalar norm, entered in norm_list.cc.
#pragma once

#include "kernels/norm.h"

namespace ingot::ref {

void norm(const NormArgs& args, int64_t begin, int64_t end);

}  // namespace ingot::ref
