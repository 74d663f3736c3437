// SPDX-License-Identifier: Apache-2.0
// The lookup tables of the IQ blocks: facts of the file format. IQ1 values are signed. The data
// files are made by tools/make_iq_grids.py. Plain arrays, no inline bodies: kernels read these too;
// a GPU has its own copies (kernels/cuda/iq_grids.cuh).
#pragma once

#include <cstdint>

#include "blocks/grid_rows.h"

namespace ingot {

extern const GridOf8<2048> kIq1Grid;    // {-1, 0, 1}, for IQ1_S and IQ1_M
extern const GridOf8<256> kIq2XxsGrid;  // {8, 25, 43}
extern const GridOf8<512> kIq2XsGrid;
extern const GridOf8<1024> kIq2SGrid;
extern const GridOf4<256> kIq3XxsGrid;  // {4, 12, 20, 28, 36, 44, 52, 62}
extern const GridOf4<512> kIq3SGrid;    // {1, 3, 5, 7, 9, 11, 13, 15}
extern const int8_t kIq4Levels[16];     // for IQ4_NL and IQ4_XS

}  // namespace ingot
