// SPDX-License-Identifier: Apache-2.0
// Packings with whole scales in blocks of 256, by dot products. One token: bound by the weights'
// bytes. Many: for 64 columns of 16 rows 64 dot instructions and 8 (groups of 32) or 16 (of 16)
// multiplies by the scales. Show it with `ingot bench kernels linear_blocks`.
#include "kernels/cpu/neon/blocks_core.h"
#include "kernels/cpu/neon/dot_tiles.h"
#include "kernels/cpu/neon/linear.h"

namespace ingot::cpu {

void linear_blocks2min_neon(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksKernels<DotTiles>::Q2Min>(args, begin, end);
}
void linear_blocks3_neon(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksKernels<DotTiles>::Q3>(args, begin, end);
}
void linear_blocks4min_neon(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksKernels<DotTiles>::Q4Min>(args, begin, end);
}
void linear_blocks5min_neon(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksKernels<DotTiles>::Q5Min>(args, begin, end);
}
void linear_blocks6_neon(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksKernels<DotTiles>::Q6>(args, begin, end);
}
void linear_blocks_iq4_neon(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksKernels<DotTiles>::Iq4>(args, begin, end);
}
void linear_blocks2_neon(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksKernels<DotTiles>::Q2>(args, begin, end);
}
void linear_blocks_iq1_neon(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksKernels<DotTiles>::Iq1>(args, begin, end);
}
void linear_blocks_iq1m_neon(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksKernels<DotTiles>::Iq1M>(args, begin, end);
}
void linear_blocks_iq2_neon(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksKernels<DotTiles>::Iq2>(args, begin, end);
}
void linear_blocks_iq3xxs_neon(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksKernels<DotTiles>::Iq3Xxs>(args, begin, end);
}
void linear_blocks_iq3s_neon(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksKernels<DotTiles>::Iq3S>(args, begin, end);
}

}  // namespace ingot::cpu
