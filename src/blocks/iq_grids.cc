// SPDX-License-Identifier: Apache-2.0
#include "blocks/iq_grids.h"

#include "blocks/expand_grid.h"
#include "blocks/iq1_grid_data.h"
#include "blocks/iq2_grid_data.h"
#include "blocks/iq3_grid_data.h"

namespace ingot {

constinit const GridOf8<2048> kIq1Grid = expand_grid_of_8(kIq1Rows, kIq1Levels);
constinit const GridOf8<256> kIq2XxsGrid = expand_grid_of_8(kIq2XxsRows, kIq2XxsLevels);
constinit const GridOf8<512> kIq2XsGrid = expand_grid_of_8(kIq2XsRows, kIq2XsLevels);
constinit const GridOf8<1024> kIq2SGrid = expand_grid_of_8(kIq2SRows, kIq2SLevels);
constinit const GridOf4<256> kIq3XxsGrid = expand_grid_of_4(kIq3XxsRows, kIq3XxsLevels);
constinit const GridOf4<512> kIq3SGrid = expand_grid_of_4(kIq3SRows, kIq3SLevels);

}  // namespace ingot
