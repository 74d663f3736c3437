// SPDX-License-Identifier: Apache-2.0
// Packings with a float scale per group of 32, by matrix products where there are more than a few
// tokens: for 32 columns of 16 rows and 2 tokens 32 instructions, half of what dot products take.
// Show it with `ingot bench kernels linear_groups`.
#include "kernels/cpu/i8mm/linear.h"
#include "kernels/cpu/i8mm/matrix_tiles.h"
#include "kernels/cpu/neon/groups_core.h"

namespace ingot::cpu {

void linear_groups4_i8mm(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsKernels<MatrixTiles>::Q4>(args, begin, end);
}
void linear_groups4min_i8mm(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsKernels<MatrixTiles>::Q4Min>(args, begin, end);
}
void linear_groups5_i8mm(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsKernels<MatrixTiles>::Q5>(args, begin, end);
}
void linear_groups5min_i8mm(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsKernels<MatrixTiles>::Q5Min>(args, begin, end);
}
void linear_groups8_i8mm(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsKernels<MatrixTiles>::Q8>(args, begin, end);
}
void linear_groups_iq4_i8mm(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsKernels<MatrixTiles>::Iq4>(args, begin, end);
}
void linear_groups_nf4bytes_i8mm(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsKernels<MatrixTiles>::Nf4Bytes>(args, begin, end);
}
void linear_groups_fp4_i8mm(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsKernels<MatrixTiles>::Fp4>(args, begin, end);
}
void linear_groups_fp4bytes_i8mm(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsKernels<MatrixTiles>::Fp4Bytes>(args, begin, end);
}
void linear_groups2zero_i8mm(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsKernels<MatrixTiles>::Zero<2>>(args, begin, end);
}
void linear_groups3zero_i8mm(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsKernels<MatrixTiles>::Zero<3>>(args, begin, end);
}
void linear_groups4zero_i8mm(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsKernels<MatrixTiles>::Zero<4>>(args, begin, end);
}
void linear_groups8zero_i8mm(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsKernels<MatrixTiles>::Zero<8>>(args, begin, end);
}
void linear_groups1_i8mm(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsKernels<MatrixTiles>::Q1>(args, begin, end);
}
void linear_groups2_i8mm(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsKernels<MatrixTiles>::Q2>(args, begin, end);
}
void linear_groups_nvfp4_i8mm(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsKernels<MatrixTiles>::Nvfp4>(args, begin, end);
}

}  // namespace ingot::cpu
