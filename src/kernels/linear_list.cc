// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "kernels/linear.h"
#include "kernels/linear_ref.h"
#if INGOT_X86
#include "kernels/cpu/avx2/linear.h"
#endif

namespace ingot {
namespace {

using enum Layout;
constexpr auto kX32 = ActivationLayout::kF32;
constexpr auto kX8G32 = ActivationLayout::kQ8G32;
constexpr auto kX8G256 = ActivationLayout::kQ8G256;

// Best first within a layout; each layout also has a scalar reference.
// clang-format off: a table
constexpr LinearKernel kLinearKernels[] = {
#if INGOT_X86
    {"linear_f32_avx2", kF32, Target::kAvx2, kX32, cpu::linear_f32_avx2},
    {"linear_f16_avx2", kF16, Target::kAvx2, kX32, cpu::linear_f16_avx2},
    {"linear_bf16_avx2", kBF16, Target::kAvx2, kX32, cpu::linear_bf16_avx2},
    {"linear_q4_0_avx2", kQ4_0, Target::kAvx2, kX8G32, cpu::linear_q4_0_avx2},
    {"linear_q4_1_avx2", kQ4_1, Target::kAvx2, kX8G32, cpu::linear_q4_1_avx2},
    {"linear_q5_0_avx2", kQ5_0, Target::kAvx2, kX8G32, cpu::linear_q5_0_avx2},
    {"linear_q5_1_avx2", kQ5_1, Target::kAvx2, kX8G32, cpu::linear_q5_1_avx2},
    {"linear_q8_0_avx2", kQ8_0, Target::kAvx2, kX8G32, cpu::linear_q8_0_avx2},
    {"linear_iq4_nl_avx2", kIQ4_NL, Target::kAvx2, kX8G32, cpu::linear_iq4_nl_avx2},
    {"linear_mxfp4_avx2", kMXFP4, Target::kAvx2, kX8G32, cpu::linear_mxfp4_avx2},
    {"linear_q2_k_avx2", kQ2_K, Target::kAvx2, kX8G256, cpu::linear_q2_k_avx2},
    {"linear_q3_k_avx2", kQ3_K, Target::kAvx2, kX8G256, cpu::linear_q3_k_avx2},
    {"linear_q4_k_avx2", kQ4_K, Target::kAvx2, kX8G256, cpu::linear_q4_k_avx2},
    {"linear_q5_k_avx2", kQ5_K, Target::kAvx2, kX8G256, cpu::linear_q5_k_avx2},
    {"linear_q6_k_avx2", kQ6_K, Target::kAvx2, kX8G256, cpu::linear_q6_k_avx2},
    {"linear_iq4_xs_avx2", kIQ4_XS, Target::kAvx2, kX8G256, cpu::linear_iq4_xs_avx2},
    {"linear_f64_avx2", kF64, Target::kAvx2, kX32, cpu::linear_decode_avx2},
    {"linear_f8_e4m3_avx2", kF8_E4M3, Target::kAvx2, kX32, cpu::linear_decode_avx2},
    {"linear_f8_e5m2_avx2", kF8_E5M2, Target::kAvx2, kX32, cpu::linear_decode_avx2},
    {"linear_f8_e8m0_avx2", kF8_E8M0, Target::kAvx2, kX32, cpu::linear_decode_avx2},
    {"linear_f4_e2m1_avx2", kF4_E2M1, Target::kAvx2, kX32, cpu::linear_decode_avx2},
    {"linear_f6_e2m3_avx2", kF6_E2M3, Target::kAvx2, kX32, cpu::linear_decode_avx2},
    {"linear_f6_e3m2_avx2", kF6_E3M2, Target::kAvx2, kX32, cpu::linear_decode_avx2},
    {"linear_q8_1_avx2", kQ8_1, Target::kAvx2, kX32, cpu::linear_decode_avx2},
    {"linear_q8_k_avx2", kQ8_K, Target::kAvx2, kX32, cpu::linear_decode_avx2},
    {"linear_iq1_s_avx2", kIQ1_S, Target::kAvx2, kX32, cpu::linear_decode_avx2},
    {"linear_iq1_m_avx2", kIQ1_M, Target::kAvx2, kX32, cpu::linear_decode_avx2},
    {"linear_iq2_xxs_avx2", kIQ2_XXS, Target::kAvx2, kX32, cpu::linear_decode_avx2},
    {"linear_iq2_xs_avx2", kIQ2_XS, Target::kAvx2, kX32, cpu::linear_decode_avx2},
    {"linear_iq2_s_avx2", kIQ2_S, Target::kAvx2, kX32, cpu::linear_decode_avx2},
    {"linear_iq3_xxs_avx2", kIQ3_XXS, Target::kAvx2, kX32, cpu::linear_decode_avx2},
    {"linear_iq3_s_avx2", kIQ3_S, Target::kAvx2, kX32, cpu::linear_decode_avx2},
    {"linear_tq1_0_avx2", kTQ1_0, Target::kAvx2, kX32, cpu::linear_decode_avx2},
    {"linear_tq2_0_avx2", kTQ2_0, Target::kAvx2, kX32, cpu::linear_decode_avx2},
    {"linear_nvfp4_avx2", kNVFP4, Target::kAvx2, kX32, cpu::linear_decode_avx2},
    {"linear_q1_0_avx2", kQ1_0, Target::kAvx2, kX32, cpu::linear_decode_avx2},
    {"linear_q2_0_avx2", kQ2_0, Target::kAvx2, kX32, cpu::linear_decode_avx2},
#endif
    {"linear_f32_ref", kF32, Target::kScalar, kX32, ref::linear_decode},
    {"linear_f16_ref", kF16, Target::kScalar, kX32, ref::linear_decode},
    {"linear_bf16_ref", kBF16, Target::kScalar, kX32, ref::linear_decode},
    {"linear_q4_0_ref", kQ4_0, Target::kScalar, kX8G32, ref::linear_q4_0},
    {"linear_q4_1_ref", kQ4_1, Target::kScalar, kX8G32, ref::linear_q4_1},
    {"linear_q5_0_ref", kQ5_0, Target::kScalar, kX8G32, ref::linear_q5_0},
    {"linear_q5_1_ref", kQ5_1, Target::kScalar, kX8G32, ref::linear_q5_1},
    {"linear_q8_0_ref", kQ8_0, Target::kScalar, kX8G32, ref::linear_q8_0},
    {"linear_iq4_nl_ref", kIQ4_NL, Target::kScalar, kX8G32, ref::linear_iq4_nl},
    {"linear_mxfp4_ref", kMXFP4, Target::kScalar, kX8G32, ref::linear_mxfp4},
    {"linear_q2_k_ref", kQ2_K, Target::kScalar, kX8G256, ref::linear_q2_k},
    {"linear_q3_k_ref", kQ3_K, Target::kScalar, kX8G256, ref::linear_q3_k},
    {"linear_q4_k_ref", kQ4_K, Target::kScalar, kX8G256, ref::linear_q4_k},
    {"linear_q5_k_ref", kQ5_K, Target::kScalar, kX8G256, ref::linear_q5_k},
    {"linear_q6_k_ref", kQ6_K, Target::kScalar, kX8G256, ref::linear_q6_k},
    {"linear_iq4_xs_ref", kIQ4_XS, Target::kScalar, kX8G256, ref::linear_iq4_xs},
    {"linear_f64_ref", kF64, Target::kScalar, kX32, ref::linear_decode},
    {"linear_f8_e4m3_ref", kF8_E4M3, Target::kScalar, kX32, ref::linear_decode},
    {"linear_f8_e5m2_ref", kF8_E5M2, Target::kScalar, kX32, ref::linear_decode},
    {"linear_f8_e8m0_ref", kF8_E8M0, Target::kScalar, kX32, ref::linear_decode},
    {"linear_f4_e2m1_ref", kF4_E2M1, Target::kScalar, kX32, ref::linear_decode},
    {"linear_f6_e2m3_ref", kF6_E2M3, Target::kScalar, kX32, ref::linear_decode},
    {"linear_f6_e3m2_ref", kF6_E3M2, Target::kScalar, kX32, ref::linear_decode},
    {"linear_q8_1_ref", kQ8_1, Target::kScalar, kX32, ref::linear_decode},
    {"linear_q8_k_ref", kQ8_K, Target::kScalar, kX32, ref::linear_decode},
    {"linear_iq1_s_ref", kIQ1_S, Target::kScalar, kX32, ref::linear_decode},
    {"linear_iq1_m_ref", kIQ1_M, Target::kScalar, kX32, ref::linear_decode},
    {"linear_iq2_xxs_ref", kIQ2_XXS, Target::kScalar, kX32, ref::linear_decode},
    {"linear_iq2_xs_ref", kIQ2_XS, Target::kScalar, kX32, ref::linear_decode},
    {"linear_iq2_s_ref", kIQ2_S, Target::kScalar, kX32, ref::linear_decode},
    {"linear_iq3_xxs_ref", kIQ3_XXS, Target::kScalar, kX32, ref::linear_decode},
    {"linear_iq3_s_ref", kIQ3_S, Target::kScalar, kX32, ref::linear_decode},
    {"linear_tq1_0_ref", kTQ1_0, Target::kScalar, kX32, ref::linear_decode},
    {"linear_tq2_0_ref", kTQ2_0, Target::kScalar, kX32, ref::linear_decode},
    {"linear_nvfp4_ref", kNVFP4, Target::kScalar, kX32, ref::linear_decode},
    {"linear_q1_0_ref", kQ1_0, Target::kScalar, kX32, ref::linear_decode},
    {"linear_q2_0_ref", kQ2_0, Target::kScalar, kX32, ref::linear_decode},
};
// clang-format on

}  // namespace

std::span<const LinearKernel> linear_kernels() {
  return kLinearKernels;
}

const LinearKernel* choose_linear(Layout layout, int64_t cols, TargetSet targets) {
  const auto it = std::ranges::find_if(kLinearKernels, [&](const LinearKernel& kernel) {
    return kernel.layout == layout && targets.has(kernel.target) &&
           cols % activation_group(kernel.activation) == 0;
  });
  return it == std::end(kLinearKernels) ? nullptr : &*it;
}

}  // namespace ingot
