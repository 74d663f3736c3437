// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/linear_panels_launch.h"

namespace ingot::cuda {

void linear_panels(Packing packing, const LinearParts& parts, const ByteInput& x, Stream stream) {
  if (packing_info(packing).activation == ActivationLayout::kQ8G256) {
    linear_blocks(packing, parts, x, stream);
  } else {
    linear_groups(packing, parts, x, stream);
  }
}

}  // namespace ingot::cuda
