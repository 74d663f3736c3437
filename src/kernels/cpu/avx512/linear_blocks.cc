// SPDX-License-Identifier: Apache-2.0
// One token: bound by the weights' bytes. Many: by dot instructions. Show it with
// `ingot bench kernels linear_blocks`.
#include "kernels/cpu/avx512/blocks_core.h"
#include "kernels/cpu/avx512/linear.h"

namespace ingot::cpu {

void linear_blocks2min_avx512(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<Blocks2Min>(args, begin, end);
}
void linear_blocks3_avx512(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<Blocks3>(args, begin, end);
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

}  // namespace ingot::cpu
