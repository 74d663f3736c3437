// SPDX-License-Identifier: Apache-2.0
// The op in front of a linear layer and the packing of its result in one launch: a norm (with the
// residual sum before it), an activation function, or joining the splits of attention. The f32
// result is written as well, if asked for.
#pragma once

#include <cstdint>

#include "kernels/cuda/attention_paths.h"
#include "kernels/cuda/inputs.h"
#include "kernels/cuda/small_ops.h"
#include "kernels/cuda/stream.h"

namespace ingot::cuda {

struct ActivationRows {
  int activation;         // as Activation
  const float* gate;      // [tokens, cols]
  const float* up;        // or null
  float* out;             // may be gate or up
  bool is_stored = true;  // else it is packed only
};

// Whether rows of so many columns can be made so.
bool can_fuse_norm(const NormRows& norm);
bool can_fuse(int64_t cols);
// And be rounded so.
bool can_fuse_rounding(const InputQuant& quant);
void normalize_and_pack(const NormRows& norm, const PackedRows& out, Stream stream);
void activate_and_pack(const ActivationRows& rows, int64_t tokens, int64_t cols,
                       const PackedRows& out, Stream stream);
// What attend() left, for the rows of its step.
bool can_fuse_join(const AttentionStep& step, const InputQuant& quant);
void join_and_pack(const AttentionStep& step, const PackedRows& out, Stream stream);
// x as it is.
void pack_rows(const float* x, int64_t tokens, int64_t cols, const PackedRows& out, Stream stream);

}  // namespace ingot::cuda
