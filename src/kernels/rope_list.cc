// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/check.h"
#include "kernels/rope.h"
#include "kernels/rope_ref.h"
#if INGOT_X86
#include "kernels/cpu/avx2/rope.h"
#include "kernels/cpu/avx512/rope.h"
#endif
#if INGOT_ARM
#include "kernels/cpu/neon/rope.h"
#endif

namespace ingot {
namespace {

constexpr RopeKernel kRopeKernels[] = {
#if INGOT_X86
    {"rope_avx512", Target::kAvx512, cpu::rope_avx512},
    {"rope_avx2", Target::kAvx2, cpu::rope_avx2},
#endif
#if INGOT_ARM
    {"rope_neon", Target::kNeon, cpu::rope_neon},
#endif
    {"rope_ref", Target::kScalar, ref::rope},
};

}  // namespace

std::span<const RopeKernel> rope_kernels() {
  return kRopeKernels;
}

const RopeKernel& choose_rope(TargetSet targets) {
  const auto it = std::ranges::find_if(
      kRopeKernels, [&](const RopeKernel& kernel) { return targets.has(kernel.target); });
  INGOT_CHECK(it != std::end(kRopeKernels));  // every set has the scalar target
  return *it;
}

}  // namespace ingot
