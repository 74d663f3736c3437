// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/linear_warpgroups.cuh"
#include "kernels/cuda/packing_switch.h"

namespace ingot::cuda {

bool linear_blocks_warpgroups(Packing packing, const LinearParts& parts, const FloatInput& x,
                              Stream stream) {
  bool is_launched = false;
  switch_blocks(packing, [&](auto constant) {
    is_launched = launch_warpgroups<decltype(constant)::value>(parts, x, stream);
  });
  return is_launched;
}

}  // namespace ingot::cuda
