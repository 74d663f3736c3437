// SPDX-License-Identifier: Apache-2.0
// The scalar rotation, entered in rope_list.cc.
#pragma once

#include "kernels/rope.h"

namespace ingot::ref {

void rope(const RopeArgs& args, int64_t begin, int64_t end);

}  // namespace ingot::ref
