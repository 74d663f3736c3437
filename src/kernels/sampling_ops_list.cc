// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/check.h"
#include "kernels/sampling_ops.h"
#include "kernels/sampling_ops_ref.h"
#if INGOT_X86
#include "kernels/cpu/avx2/sampling_ops.h"
#include "kernels/cpu/avx512/sampling_ops.h"
#endif
#if INGOT_ARM
#include "kernels/cpu/neon/sampling_ops.h"
#endif

namespace ingot {
namespace {

constexpr SamplingKernels kSamplingKernels[] = {
#if INGOT_X86
    {"sampling_avx512", Target::kAvx512, cpu::scan_logits_avx512, cpu::weigh_logits_avx512,
     cpu::collect_logits_avx512, cpu::mask_logits_avx512, cpu::logit_moments_avx512},
    {"sampling_avx2", Target::kAvx2, cpu::scan_logits_avx2, cpu::weigh_logits_avx2,
     cpu::collect_logits_avx2, cpu::mask_logits_avx2, cpu::logit_moments_avx2},
#endif
#if INGOT_ARM
    {"sampling_neon", Target::kNeon, cpu::scan_logits_neon, cpu::weigh_logits_neon,
     cpu::collect_logits_neon, cpu::mask_logits_neon, cpu::logit_moments_neon},
#endif
    {"sampling_ref", Target::kScalar, ref::scan_logits, ref::weigh_logits, ref::collect_logits,
     ref::mask_logits, ref::logit_moments},
};

}  // namespace

std::span<const SamplingKernels> sampling_kernels() {
  return kSamplingKernels;
}

const SamplingKernels& choose_sampling(TargetSet targets) {
  const auto it = std::ranges::find_if(
      kSamplingKernels, [&](const SamplingKernels& kernel) { return targets.has(kernel.target); });
  INGOT_CHECK(it != std::end(kSamplingKernels));  // every set has the scalar target
  return *it;
}

}  // namespace ingot
