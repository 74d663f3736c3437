// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/linear_warpgroups.cuh"
#include "kernels/cuda/packing_switch.h"

namespace ingot::cuda {

void linear_blocks_warpgroups(Packing packing, const LinearParts& parts, const FloatInput& x,
                              Stream stream) {
  switch_blocks(packing, [&](auto constant) {
    launch_warpgroups<decltype(constant)::value>(parts, x, stream);
  });
}

}  // namespace ingot::cuda
