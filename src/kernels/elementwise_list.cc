// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "kernels/elementwise.h"
#include "kernels/elementwise_ref.h"
#if INGOT_X86
#include "kernels/cpu/avx2/elementwise.h"
#include "kernels/cpu/avx512/elementwise.h"
#endif
#if INGOT_ARM
#include "kernels/cpu/neon/elementwise.h"
#endif

namespace ingot {
namespace {

constexpr ElementwiseKernels kElementwiseKernels[] = {
#if INGOT_X86
    {"elementwise_avx512", Target::kAvx512, cpu::activate_avx512, cpu::add_scaled_avx512,
     cpu::softcap_avx512},
    {"elementwise_avx2", Target::kAvx2, cpu::activate_avx2, cpu::add_scaled_avx2,
     cpu::softcap_avx2},
#endif
#if INGOT_ARM
    {"elementwise_neon", Target::kNeon, cpu::activate_neon, cpu::add_scaled_neon,
     cpu::softcap_neon},
#endif
    {"elementwise_ref", Target::kScalar, ref::activate, ref::add_scaled, ref::softcap},
};

constexpr std::array<std::pair<std::string_view, Activation>, 9> kActivationNames{{
    {"silu", Activation::kSilu},
    {"swish", Activation::kSilu},
    {"gelu", Activation::kGelu},
    {"gelu_new", Activation::kGeluTanh},
    {"gelu_fast", Activation::kGeluTanh},
    {"gelu_pytorch_tanh", Activation::kGeluTanh},
    {"quick_gelu", Activation::kGeluQuick},
    {"relu", Activation::kRelu},
    {"relu2", Activation::kReluSquared},
}};

}  // namespace

std::optional<Activation> activation_named(std::string_view name) {
  const auto it =
      std::ranges::find(kActivationNames, name, [](const auto& entry) { return entry.first; });
  return it == kActivationNames.end() ? std::nullopt : std::optional<Activation>(it->second);
}

std::span<const ElementwiseKernels> elementwise_kernels() {
  return kElementwiseKernels;
}

const ElementwiseKernels& choose_elementwise(TargetSet targets) {
  const auto it = std::ranges::find_if(kElementwiseKernels, [&](const ElementwiseKernels& kernels) {
    return targets.has(kernels.target);
  });
  INGOT_CHECK(it != std::end(kElementwiseKernels));  // every set has the scalar target
  return *it;
}

}  // namespace ingot
