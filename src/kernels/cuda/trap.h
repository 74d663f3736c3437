// SPDX-License-Identifier: Apache-2.0
// A kernel that breaks the device for this process, as a wrong address or a memory error would: for
// tests of what follows.
#pragma once

#include "kernels/cuda/stream.h"

namespace ingot::cuda {

void trap(Stream stream);

}  // namespace ingot::cuda
