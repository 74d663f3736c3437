// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/linear_panels.cuh"
#include "kernels/cuda/linear_panels_launch.h"
#include "kernels/cuda/packing_switch.h"

namespace ingot::cuda {

void linear_blocks(Packing packing, const LinearParts& parts, const ByteInput& x, Stream stream) {
  switch_blocks(packing,
                [&](auto constant) { launch_panels<decltype(constant)::value>(parts, x, stream); });
}

}  // namespace ingot::cuda
