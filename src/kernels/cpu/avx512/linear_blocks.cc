// SPDX-License-Identifier: Apache-2.0
// One token: bound by the weights' bytes. Many: by dot instructions. Show it with
// `ingot bench kernels linear_blocks`.
#include "kernels/cpu/avx512/blocks_core.h"
#include "kernels/cpu/avx512/folded_core.h"
#include "kernels/cpu/avx512/linear.h"

namespace ingot::cpu {

void linear_blocks2min_avx512(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<FoldedBlocks2Min>(args, begin, end);
}
void linear_blocks3_avx512(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<FoldedBlocks3>(args, begin, end);
}
void linear_blocks4min_avx512(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<Blocks4Min>(args, begin, end);
}
void linear_blocks5min_avx512(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<Blocks5Min>(args, begin, end);
}
void linear_blocks6_avx512(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<Blocks6>(args, begin, end);
}
void linear_blocks_iq4_avx512(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksIq4>(args, begin, end);
}
void linear_blocks2_avx512(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<Blocks2>(args, begin, end);
}
void linear_blocks_iq1_avx512(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksIq1>(args, begin, end);
}
void linear_blocks_iq1m_avx512(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksIq1M>(args, begin, end);
}
void linear_blocks_iq2_avx512(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksIq2>(args, begin, end);
}
void linear_blocks_iq3xxs_avx512(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksIq3Xxs>(args, begin, end);
}
void linear_blocks_iq3s_avx512(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<BlocksIq3S>(args, begin, end);
}

}  // namespace ingot::cpu
