// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/linear_panels.cuh"
#include "kernels/cuda/linear_panels_launch.h"

namespace ingot::cuda {

void linear_groups(Packing packing, const LinearParts& parts, const ByteInput& x, Stream stream) {
  using enum Packing;
  switch (packing) {
    case kGroups4:
      return launch_panels<kGroups4>(parts, x, stream);
    case kGroups4Min:
      return launch_panels<kGroups4Min>(parts, x, stream);
    case kGroups5:
      return launch_panels<kGroups5>(parts, x, stream);
    case kGroups5Min:
      return launch_panels<kGroups5Min>(parts, x, stream);
    case kGroups8:
      return launch_panels<kGroups8>(parts, x, stream);
    case kGroups1:
      return launch_panels<kGroups1>(parts, x, stream);
    case kGroups2:
      return launch_panels<kGroups2>(parts, x, stream);
    case kGroupsIq4:
      return launch_panels<kGroupsIq4>(parts, x, stream);
    case kGroupsFp4:
      return launch_panels<kGroupsFp4>(parts, x, stream);
    case kGroupsNvfp4:
      return launch_panels<kGroupsNvfp4>(parts, x, stream);
    case kGroups2Zero:
      return launch_panels<kGroups2Zero>(parts, x, stream);
    case kGroups3Zero:
      return launch_panels<kGroups3Zero>(parts, x, stream);
    case kGroups4Zero:
      return launch_panels<kGroups4Zero>(parts, x, stream);
    case kGroups8Zero:
      return launch_panels<kGroups8Zero>(parts, x, stream);
    case kGroupsNf4:
      return launch_panels<kGroupsNf4>(parts, x, stream);
    case kGroupsBnbFp4:
      return launch_panels<kGroupsBnbFp4>(parts, x, stream);
    default:
      return;
  }
}

}  // namespace ingot::cuda
