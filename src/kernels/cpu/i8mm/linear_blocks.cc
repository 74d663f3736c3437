// SPDX-License-Identifier: Apache-2.0
// Packings with whole scales in blocks of 256, by matrix products where there are more than a few
// tokens: for 32 columns of 16 rows and 2 tokens 32 instructions, half of what dot products take.
// Show it with `ingot bench kernels linear_blocks`.
#include "kernels/cpu/i8mm/linear.h"
#include "kernels/cpu/i8mm/matrix_tiles.h"
#include "kernels/cpu/neon/blocks_core.h"

namespace ingot::cpu {

void linear_blocks2min_i8mm(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksKernels<MatrixTiles>::Q2Min>(args, begin, end);
}
void linear_blocks3_i8mm(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksKernels<MatrixTiles>::Q3>(args, begin, end);
}
void linear_blocks4min_i8mm(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksKernels<MatrixTiles>::Q4Min>(args, begin, end);
}
void linear_blocks5min_i8mm(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksKernels<MatrixTiles>::Q5Min>(args, begin, end);
}
void linear_blocks6_i8mm(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksKernels<MatrixTiles>::Q6>(args, begin, end);
}
void linear_blocks_iq4_i8mm(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksKernels<MatrixTiles>::Iq4>(args, begin, end);
}
void linear_blocks2_i8mm(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksKernels<MatrixTiles>::Q2>(args, begin, end);
}
void linear_blocks_iq1_i8mm(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksKernels<MatrixTiles>::Iq1>(args, begin, end);
}
void linear_blocks_iq1m_i8mm(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksKernels<MatrixTiles>::Iq1M>(args, begin, end);
}
void linear_blocks_iq2_i8mm(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksKernels<MatrixTiles>::Iq2>(args, begin, end);
}
void linear_blocks_iq3xxs_i8mm(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksKernels<MatrixTiles>::Iq3Xxs>(args, begin, end);
}
void linear_blocks_iq3s_i8mm(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksKernels<MatrixTiles>::Iq3S>(args, begin, end);
}

}  // namespace ingot::cpu
