// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "kernels/attention.h"
#include "kernels/attention_parts.h"
#include "kernels/attention_ref.h"
#if INGOT_X86
#include "kernels/cpu/avx2/attention.h"
#endif

namespace ingot {
namespace {

// The shared walk with one kernel's parts.
template <const AttentionParts& Parts>
constexpr AttentionKernel kernel(const char* name, Layout layout, Target target) {
  return {name, layout, target,
          [](const StoreKvArgs& args, const Exec& exec) { store_kv(Parts, args, exec); },
          [](const AttentionArgs& args, const Exec& exec) { attend(Parts, args, exec); }};
}

// Best first within a layout; each group closes with its scalar reference.
constexpr AttentionKernel kAttentionKernels[] = {
#if INGOT_X86
    kernel<cpu::kAttentionF32>("attention_f32_avx2", Layout::kF32, Target::kAvx2),
    kernel<cpu::kAttentionF16>("attention_f16_avx2", Layout::kF16, Target::kAvx2),
    kernel<cpu::kAttentionBf16>("attention_bf16_avx2", Layout::kBF16, Target::kAvx2),
#endif
    kernel<ref::kAttentionF32>("attention_f32_ref", Layout::kF32, Target::kScalar),
    kernel<ref::kAttentionF16>("attention_f16_ref", Layout::kF16, Target::kScalar),
    kernel<ref::kAttentionBf16>("attention_bf16_ref", Layout::kBF16, Target::kScalar),
};

}  // namespace

std::span<const AttentionKernel> attention_kernels() {
  return kAttentionKernels;
}

const AttentionKernel* choose_attention(Layout layout, TargetSet targets) {
  const auto it = std::ranges::find_if(kAttentionKernels, [&](const AttentionKernel& kernel) {
    return kernel.layout == layout && targets.has(kernel.target);
  });
  return it == std::end(kAttentionKernels) ? nullptr : &*it;
}

}  // namespace ingot
