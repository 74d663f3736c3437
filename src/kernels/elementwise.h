// SPDX-License-Identifier: Apache-2.0
// The small ops between linears: activation functions (gated or not), residual sums, soft caps.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "kernels/elementwise_kind.h"
#include "kernels/target.h"

namespace ingot {

// Hugging Face's names: silu, swish, gelu, gelu_new, gelu_fast, gelu_pytorch_tanh, quick_gelu,
// relu, relu2.
std::optional<Activation> activation_named(std::string_view name);

struct ElementwiseKernels {
  const char* name;
  Target target;
  // out[i] = act(gate[i]) * up[i]; up may be null (no gate). out may be gate.
  void (*activate)(Activation activation, const float* gate, const float* up, float* out,
                   int64_t count);
  // y[i] += factor * x[i]
  void (*add_scaled)(float* y, const float* x, float factor, int64_t count);
  // y[i] = cap * tanh(y[i] / cap)
  void (*softcap)(float* y, float cap, int64_t count);
};
std::span<const ElementwiseKernels> elementwise_kernels();
const ElementwiseKernels& choose_elementwise(TargetSet targets);

}  // namespace ingot
