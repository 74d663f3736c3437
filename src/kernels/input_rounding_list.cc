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

constexpr auto kFromF32 = ActivationLayout::kF32;
constexpr auto kFromBf16 = ActivationLayout::kBF16;
constexpr auto kFromQ8G32 = ActivationLayout::kQ8G32;
constexpr auto kInt8 = InputKind::kInt8;
constexpr auto kE4m3 = InputKind::kE4m3;

// Best first within a layout and kind; each closes with its scalar reference.
constexpr RoundKernel kRoundKernels[] = {
#if INGOT_X86
    {"round_int8_q8g32_avx2", kFromQ8G32, kInt8, Target::kAvx2, cpu::round_int8_q8g32_avx2},
    {"round_e4m3_f32_avx2", kFromF32, kE4m3, Target::kAvx2, cpu::round_e4m3_f32_avx2},
    {"round_e4m3_bf16_avx2", kFromBf16, kE4m3, Target::kAvx2, cpu::round_e4m3_bf16_avx2},
#endif
    {"round_int8_f32_ref", kFromF32, kInt8, Target::kScalar, ref::round_int8_f32},
    {"round_int8_q8g32_ref", kFromQ8G32, kInt8, Target::kScalar, ref::round_int8_q8g32},
    {"round_e4m3_f32_ref", kFromF32, kE4m3, Target::kScalar, ref::round_e4m3_f32},
    {"round_e4m3_bf16_ref", kFromBf16, kE4m3, Target::kScalar, ref::round_e4m3_bf16},
};

}  // namespace

std::span<const RoundKernel> round_kernels() {
  return kRoundKernels;
}

const RoundKernel* choose_round(ActivationLayout layout, const InputQuant& quant,
                                TargetSet targets) {
  if (layout == kFromBf16 && quant.block % kScaleColumns != 0) return nullptr;
  const auto it = std::ranges::find_if(kRoundKernels, [&](const RoundKernel& kernel) {
    return kernel.layout == layout && kernel.kind == quant.kind && targets.has(kernel.target);
  });
  return it == std::end(kRoundKernels) ? nullptr : &*it;
}

}  // namespace ingot
