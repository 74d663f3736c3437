// SPDX-License-Identifier: Apache-2.0
// The scalar packers, entered in activations_list.cc.
#pragma once

#include "kernels/activations.h"

namespace ingot::ref {

void pack_bf16(const PackArgs& args, int64_t begin, int64_t end);
void pack_i16g128(const PackArgs& args, int64_t begin, int64_t end);
void pack_q8g32(const PackArgs& args, int64_t begin, int64_t end);
void pack_q8g256(const PackArgs& args, int64_t begin, int64_t end);

}  // namespace ingot::ref
