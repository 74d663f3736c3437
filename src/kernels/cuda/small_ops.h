// SPDX-License-Identifier: Apache-2.0
// The ops between linears on the device: norms, rotation, activation functions, residual sums.
#pragma once

#include <cstdint>

#include "kernels/cuda/stream.h"

namespace ingot::cuda {

// As NormArgs of kernels/norm.h.
struct NormRows {
  bool is_layer_norm;  // else root mean square
  const float* x;      // [rows, dim]
  float* y;            // may be x
  int64_t rows;
  int64_t dim;
  float eps;
  const float* weight;  // [weight_rows, dim] or null
  int64_t weight_rows;
  const float* bias;  // like weight, or null
  // Where given: x += factor * branch first, which is written to x too; x then is no input alone.
  float* residual;  // null, or x itself
  const float* branch;
  float factor;
  bool is_stored = true;  // else y is packed only (fused_inputs.h)
};
void normalize(const NormRows& args, Stream stream);

// Queries and keys in one launch.
struct RotateRows {
  bool in_halves;    // dimension i turns with i + pairs; else 2i with 2i + 1
  float* x[2];       // [tokens, heads, head_dim]; the second may be null
  int32_t heads[2];  // of the second 0 then
  int32_t head_dim;
  int32_t pairs;
  const float* cos;  // [tokens, pairs]
  const float* sin;
  int32_t tokens;
};
void rotate(const RotateRows& args, Stream stream);

// As Activation of kernels/elementwise.h; `up` may be null.
void activate(int activation, const float* gate, const float* up, float* out, int64_t count,
              Stream stream);
void add_scaled(float* y, const float* x, float factor, int64_t count, Stream stream);
void clamp(float* x, float limit, int64_t count, Stream stream);
// y = cap * tanh(scale * y / cap); without the tanh where cap is 0.
void finish_logits(float* y, float scale, float cap, int64_t count, Stream stream);
// hidden [tokens, dim] += table[positions[token]]
void add_rows(float* y, const float* table, const int32_t* rows, int32_t count, int64_t dim,
              Stream stream);
// y [tokens, rows] = factor * y + bias, the latter where it is not null; y in rows of `stride`.
void finish_rows(float* y, int64_t stride, float factor, const float* bias, int32_t rows,
                 int32_t tokens, Stream stream);
// out [count, dim] = x[rows[i]]
void copy_rows(const float* x, const int32_t* rows, int32_t count, int64_t dim, float* out,
               Stream stream);

}  // namespace ingot::cuda
