// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/linear_panels.cuh"
#include "kernels/cuda/linear_panels_launch.h"

namespace ingot::cuda {

void linear_blocks(Packing packing, const LinearParts& parts, const ByteInput& x, Stream stream) {
  using enum Packing;
  switch (packing) {
    case kBlocks2Min:
      return launch_panels<kBlocks2Min>(parts, x, stream);
    case kBlocks3:
      return launch_panels<kBlocks3>(parts, x, stream);
    case kBlocks4Min:
      return launch_panels<kBlocks4Min>(parts, x, stream);
    case kBlocks5Min:
      return launch_panels<kBlocks5Min>(parts, x, stream);
    case kBlocks6:
      return launch_panels<kBlocks6>(parts, x, stream);
    case kBlocksIq4:
      return launch_panels<kBlocksIq4>(parts, x, stream);
    case kBlocks2:
      return launch_panels<kBlocks2>(parts, x, stream);
    case kBlocksIq1:
      return launch_panels<kBlocksIq1>(parts, x, stream);
    case kBlocksIq1M:
      return launch_panels<kBlocksIq1M>(parts, x, stream);
    case kBlocksIq2:
      return launch_panels<kBlocksIq2>(parts, x, stream);
    case kBlocksIq3Xxs:
      return launch_panels<kBlocksIq3Xxs>(parts, x, stream);
    case kBlocksIq3S:
      return launch_panels<kBlocksIq3S>(parts, x, stream);
    default:
      return;
  }
}

}  // namespace ingot::cuda
