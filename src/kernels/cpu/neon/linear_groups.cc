// SPDX-License-Identifier: Apache-2.0
// Packings with a float scale per group of 32, by dot products. One token: bound by the weights'
// bytes. Many: for 32 columns of 16 rows 32 dot instructions and 12 in float for the scales (16
// with minimums). Show it with `ingot bench kernels linear_groups`.
#include "kernels/cpu/neon/dot_tiles.h"
#include "kernels/cpu/neon/groups_core.h"
#include "kernels/cpu/neon/linear.h"

namespace ingot::cpu {

void linear_groups4_neon(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsKernels<DotTiles>::Q4>(args, begin, end);
}
void linear_groups4min_neon(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsKernels<DotTiles>::Q4Min>(args, begin, end);
}
void linear_groups5_neon(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsKernels<DotTiles>::Q5>(args, begin, end);
}
void linear_groups5min_neon(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsKernels<DotTiles>::Q5Min>(args, begin, end);
}
void linear_groups8_neon(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsKernels<DotTiles>::Q8>(args, begin, end);
}
void linear_groups_iq4_neon(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsKernels<DotTiles>::Iq4>(args, begin, end);
}
void linear_groups_nf4bytes_neon(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsKernels<DotTiles>::Nf4Bytes>(args, begin, end);
}
void linear_groups_fp4_neon(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsKernels<DotTiles>::Fp4>(args, begin, end);
}
void linear_groups_fp4bytes_neon(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsKernels<DotTiles>::Fp4Bytes>(args, begin, end);
}
void linear_groups2zero_neon(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsKernels<DotTiles>::Zero<2>>(args, begin, end);
}
void linear_groups3zero_neon(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsKernels<DotTiles>::Zero<3>>(args, begin, end);
}
void linear_groups4zero_neon(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsKernels<DotTiles>::Zero<4>>(args, begin, end);
}
void linear_groups8zero_neon(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsKernels<DotTiles>::Zero<8>>(args, begin, end);
}
void linear_groups1_neon(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsKernels<DotTiles>::Q1>(args, begin, end);
}
void linear_groups2_neon(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsKernels<DotTiles>::Q2>(args, begin, end);
}
void linear_groups_nvfp4_neon(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsKernels<DotTiles>::Nvfp4>(args, begin, end);
}

}  // namespace ingot::cpu
