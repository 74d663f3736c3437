// SPDX-License-Identifier: Apache-2.0
// How a checkpoint wants the inputs of a linear layer rounded (W8A8, FP8): part of a weight's
// quantization, obeyed by what packs inputs for the kernels. Every token is rounded by itself.
// Plain data: files built with a target's flags read it.
#pragma once

#include <cstdint>

namespace ingot {

enum class InputKind : uint8_t {
  kAsTheyAre,
  kInt8,  // scale * (code - zero), code in [-128, 127]
  kE4m3,  // scale * the 8-bit float, at most 448
};

struct InputQuant {
  InputKind kind = InputKind::kAsTheyAre;
  float scale = 0;           // of every input; 0: from the largest of each token or block
  int32_t zero = 0;          // of int8 with a scale of its own
  bool is_symmetric = true;  // int8 without one: whether zero stays in the middle
  int64_t block = 0;         // e4m3: columns with one scale, fewer where a row ends; 0: all
  float limit = 0;           // what a token's largest counts for at most; 0: no limit
  bool has_powers = false;   // scales are rounded up to powers of two
  bool operator==(const InputQuant&) const = default;

  bool rounds() const { return kind != InputKind::kAsTheyAre; }
  // Whether codes of zero mean something: sums of weights then come off the products.
  bool has_zero() const { return kind == InputKind::kInt8 && (zero != 0 || !is_symmetric); }
};

}  // namespace ingot
