// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding, in place, on the first 2 * pairs dimensions of every head. The angles
// come as a table made once per step, so that every scaling rule is a matter of the table alone.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/target.h"

namespace ingot {

enum class RopePairing : uint8_t {
  kHalves,      // dimension i turns with i + pairs (Hugging Face's rotate_half, "neox")
  kNeighbours,  // dimension 2i turns with 2i + 1 (GPT-J, GLM, Cohere, GGUF's permuted Llama)
};

struct RopeArgs {
  RopePairing pairing;
  float* x;  // [tokens, heads, head_dim], token i at x + i * token_stride
  int64_t token_stride;
  int64_t heads;
  int64_t head_dim;
  int64_t pairs;     // 2 * pairs <= head_dim
  const float* cos;  // [tokens, pairs], attention factor multiplied in
  const float* sin;
};

struct RopeKernel {
  const char* name;
  Target target;
  void (*run)(const RopeArgs& args, int64_t begin, int64_t end);  // tokens [begin, end)
};
std::span<const RopeKernel> rope_kernels();
const RopeKernel& choose_rope(TargetSet targets);

}  // namespace ingot
