// SPDX-License-Identifier: Apache-2.0
// Calls launch with a packing as a constant.
#pragma once

#include <type_traits>

#include "kernels/packing.h"

namespace ingot::cuda {

template <Packing kPacking>
using PackingConstant = std::integral_constant<Packing, kPacking>;

template <class Launch>
void switch_groups(Packing packing, const Launch& launch) {
  using enum Packing;
  switch (packing) {
    case kGroups4:
      return launch(PackingConstant<kGroups4>{});
    case kGroups4Min:
      return launch(PackingConstant<kGroups4Min>{});
    case kGroups5:
      return launch(PackingConstant<kGroups5>{});
    case kGroups5Min:
      return launch(PackingConstant<kGroups5Min>{});
    case kGroups8:
      return launch(PackingConstant<kGroups8>{});
    case kGroups1:
      return launch(PackingConstant<kGroups1>{});
    case kGroups2:
      return launch(PackingConstant<kGroups2>{});
    case kGroupsIq4:
      return launch(PackingConstant<kGroupsIq4>{});
    case kGroupsFp4:
      return launch(PackingConstant<kGroupsFp4>{});
    case kGroupsNvfp4:
      return launch(PackingConstant<kGroupsNvfp4>{});
    case kGroups2Zero:
      return launch(PackingConstant<kGroups2Zero>{});
    case kGroups3Zero:
      return launch(PackingConstant<kGroups3Zero>{});
    case kGroups4Zero:
      return launch(PackingConstant<kGroups4Zero>{});
    case kGroups8Zero:
      return launch(PackingConstant<kGroups8Zero>{});
    case kGroupsNf4:
      return launch(PackingConstant<kGroupsNf4>{});
    case kGroupsBnbFp4:
      return launch(PackingConstant<kGroupsBnbFp4>{});
    default:
      return;
  }
}

template <class Launch>
void switch_blocks(Packing packing, const Launch& launch) {
  using enum Packing;
  switch (packing) {
    case kBlocks2Min:
      return launch(PackingConstant<kBlocks2Min>{});
    case kBlocks3:
      return launch(PackingConstant<kBlocks3>{});
    case kBlocks4Min:
      return launch(PackingConstant<kBlocks4Min>{});
    case kBlocks5Min:
      return launch(PackingConstant<kBlocks5Min>{});
    case kBlocks6:
      return launch(PackingConstant<kBlocks6>{});
    case kBlocksIq4:
      return launch(PackingConstant<kBlocksIq4>{});
    case kBlocks2:
      return launch(PackingConstant<kBlocks2>{});
    case kBlocksIq1:
      return launch(PackingConstant<kBlocksIq1>{});
    case kBlocksIq1M:
      return launch(PackingConstant<kBlocksIq1M>{});
    case kBlocksIq2:
      return launch(PackingConstant<kBlocksIq2>{});
    case kBlocksIq3Xxs:
      return launch(PackingConstant<kBlocksIq3Xxs>{});
    case kBlocksIq3S:
      return launch(PackingConstant<kBlocksIq3S>{});
    default:
      return;
  }
}

}  // namespace ingot::cuda
