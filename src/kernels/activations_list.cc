// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "kernels/activations.h"
#include "kernels/activations_ref.h"
#if INGOT_X86
#include "kernels/cpu/avx2/activations.h"
#include "kernels/cpu/avx512/activations.h"
#endif
#if INGOT_ARM
#include "kernels/cpu/neon/activations.h"
#endif

namespace ingot {
namespace {

// Best first within a layout; each group closes with its scalar reference.
constexpr PackKernel kPackKernels[] = {
#if INGOT_X86
    {"pack_q8g32_avx2", ActivationLayout::kQ8G32, Target::kAvx2, cpu::pack_q8g32_avx2},
#endif
#if INGOT_ARM
    {"pack_q8g32_neon", ActivationLayout::kQ8G32, Target::kNeon, cpu::pack_q8g32_neon},
#endif
    {"pack_q8g32_ref", ActivationLayout::kQ8G32, Target::kScalar, ref::pack_q8g32},
#if INGOT_X86
    {"pack_q8g256_avx512", ActivationLayout::kQ8G256, Target::kAvx512, cpu::pack_q8g256_avx512},
    {"pack_q8g256_avx2", ActivationLayout::kQ8G256, Target::kAvx2, cpu::pack_q8g256_avx2},
#endif
#if INGOT_ARM
    {"pack_q8g256_neon", ActivationLayout::kQ8G256, Target::kNeon, cpu::pack_q8g256_neon},
#endif
    {"pack_q8g256_ref", ActivationLayout::kQ8G256, Target::kScalar, ref::pack_q8g256},
#if INGOT_X86
    {"pack_bf16_avx512", ActivationLayout::kBF16, Target::kAvx512, cpu::pack_bf16_avx512},
#endif
    {"pack_bf16_ref", ActivationLayout::kBF16, Target::kScalar, ref::pack_bf16},
#if INGOT_X86
    {"pack_i16g128_avx512", ActivationLayout::kI16G128, Target::kAvx512, cpu::pack_i16g128_avx512},
    {"pack_i16g128_avx2", ActivationLayout::kI16G128, Target::kAvx2, cpu::pack_i16g128_avx2},
#endif
    {"pack_i16g128_ref", ActivationLayout::kI16G128, Target::kScalar, ref::pack_i16g128},
};

}  // namespace

std::span<const PackKernel> pack_kernels() {
  return kPackKernels;
}

const PackKernel* choose_pack(ActivationLayout layout, TargetSet targets) {
  const auto it = std::ranges::find_if(kPackKernels, [&](const PackKernel& kernel) {
    return kernel.layout == layout && targets.has(kernel.target);
  });
  return it == std::end(kPackKernels) ? nullptr : &*it;
}

}  // namespace ingot
