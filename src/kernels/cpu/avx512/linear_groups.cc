// SPDX-License-Identifier: Apache-2.0
// One token: bound by the weights' bytes. Many: by dot instructions. Show it with
// `ingot bench kernels linear_groups`.
#include "kernels/cpu/avx512/groups_core.h"
#include "kernels/cpu/avx512/linear.h"

namespace ingot::cpu {

void linear_groups4_avx512(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<Groups4>(args, begin, end);
}
void linear_groups4min_avx512(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<Groups4Min>(args, begin, end);
}
void linear_groups5_avx512(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<Groups5>(args, begin, end);
}
void linear_groups5min_avx512(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<Groups5Min>(args, begin, end);
}
void linear_groups8_avx512(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<Groups8>(args, begin, end);
}
void linear_groups_iq4_avx512(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsIq4>(args, begin, end);
}
void linear_groups_nf4bytes_avx512(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsNf4Bytes>(args, begin, end);
}
void linear_groups_fp4_avx512(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsFp4>(args, begin, end);
}
void linear_groups_fp4bytes_avx512(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsFp4Bytes>(args, begin, end);
}
void linear_groups2zero_avx512(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsZero<2>>(args, begin, end);
}
void linear_groups3zero_avx512(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsZero<3>>(args, begin, end);
}
void linear_groups4zero_avx512(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsZero<4>>(args, begin, end);
}
void linear_groups8zero_avx512(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsZero<8>>(args, begin, end);
}
void linear_groups_nf4_avx512(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsNf4>(args, begin, end);
}
void linear_groups_bnb_fp4_avx512(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsBnbFp4>(args, begin, end);
}
void linear_groups1_avx512(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<Groups1>(args, begin, end);
}
void linear_groups2_avx512(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<Groups2>(args, begin, end);
}
void linear_groups_nvfp4_avx512(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<GroupsNvfp4>(args, begin, end);
}

}  // namespace ingot::cpu
