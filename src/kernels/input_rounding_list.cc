// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "kernels/input_rounding.h"
#include "kernels/input_rounding_ref.h"
#if INGOT_X86
#include "kernels/cpu/avx2/input_rounding.h"
#endif

namespace ingot {
namespace {

constexpr auto kX32 = ActivationLayout::kF32;
constexpr auto kX16 = ActivationLayout::kBF16;
constexpr auto kX8G32 = ActivationLayout::kQ8G32;
constexpr auto kInt8 = InputKind::kInt8;
constexpr auto kE4m3 = InputKind::kE4m3;

// Best first within a layout and kind; each closes with its scalar reference.
constexpr RoundKernel kRoundKernels[] = {
#if INGOT_X86
    {"round_int8_q8g32_avx2", kX8G32, kInt8, Target::kAvx2, cpu::round_int8_q8g32_avx2},
    {"round_e4m3_f32_avx2", kX32, kE4m3, Target::kAvx2, cpu::round_e4m3_f32_avx2},
    {"round_e4m3_bf16_avx2", kX16, kE4m3, Target::kAvx2, cpu::round_e4m3_bf16_avx2},
#endif
    {"round_int8_f32_ref", kX32, kInt8, Target::kScalar, ref::round_int8_f32},
    {"round_int8_q8g32_ref", kX8G32, kInt8, Target::kScalar, ref::round_int8_q8g32},
    {"round_e4m3_f32_ref", kX32, kE4m3, Target::kScalar, ref::round_e4m3_f32},
    {"round_e4m3_bf16_ref", kX16, kE4m3, Target::kScalar, ref::round_e4m3_bf16},
};

}  // namespace

std::span<const RoundKernel> round_kernels() {
  return kRoundKernels;
}

const RoundKernel* choose_round(ActivationLayout layout, const InputQuant& quant,
                                TargetSet targets) {
  if (layout == kX16 && quant.block % kScaleColumns != 0) return nullptr;
  const auto it = std::ranges::find_if(kRoundKernels, [&](const RoundKernel& kernel) {
    return kernel.layout == layout && kernel.kind == quant.kind && targets.has(kernel.target);
  });
  return it == std::end(kRoundKernels) ? nullptr : &*it;
}

}  // namespace ingot
