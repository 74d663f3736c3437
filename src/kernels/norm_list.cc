// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/check.h"
#include "kernels/norm.h"
#include "kernels/norm_ref.h"
#if INGOT_X86
#include "kernels/cpu/avx2/norm.h"
#include "kernels/cpu/avx512/norm.h"
#endif
#if INGOT_ARM
#include "kernels/cpu/neon/norm.h"
#endif

namespace ingot {
namespace {

constexpr NormKernel kNormKernels[] = {
#if INGOT_X86
    {"norm_avx512", Target::kAvx512, cpu::norm_avx512},
    {"norm_avx2", Target::kAvx2, cpu::norm_avx2},
#endif
#if INGOT_ARM
    {"norm_neon", Target::kNeon, cpu::norm_neon},
#endif
    {"norm_ref", Target::kScalar, ref::norm},
};

}  // namespace

std::span<const NormKernel> norm_kernels() {
  return kNormKernels;
}

const NormKernel& choose_norm(TargetSet targets) {
  const auto it = std::ranges::find_if(
      kNormKernels, [&](const NormKernel& kernel) { return targets.has(kernel.target); });
  INGOT_CHECK(it != std::end(kNormKernels));  // every set has the scalar target
  return *it;
}

}  // namespace ingot
