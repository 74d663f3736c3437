// SPDX-License-Identifier: Apache-2.0
// The lookup tables of the IQ blocks in the memory of a GPU, by the names that blocks/iq_grids.h
// gives the processor's: code built for either reads its own. 33 KiB, which one kernel file has.
#pragma once

#include "blocks/expand_grid.h"
#include "blocks/iq1_grid_data.h"
#include "blocks/iq2_grid_data.h"
#include "blocks/iq3_grid_data.h"

namespace ingot {
namespace {

__device__ constexpr GridOf8<2048> kIq1Grid = expand_grid_of_8(kIq1Rows, kIq1Levels);
__device__ constexpr GridOf8<256> kIq2XxsGrid = expand_grid_of_8(kIq2XxsRows, kIq2XxsLevels);
__device__ constexpr GridOf8<512> kIq2XsGrid = expand_grid_of_8(kIq2XsRows, kIq2XsLevels);
__device__ constexpr GridOf8<1024> kIq2SGrid = expand_grid_of_8(kIq2SRows, kIq2SLevels);
__device__ constexpr GridOf4<256> kIq3XxsGrid = expand_grid_of_4(kIq3XxsRows, kIq3XxsLevels);
__device__ constexpr GridOf4<512> kIq3SGrid = expand_grid_of_4(kIq3SRows, kIq3SLevels);

}  // namespace
}  // namespace ingot
