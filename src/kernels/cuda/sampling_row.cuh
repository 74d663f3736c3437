// SPDX-License-Identifier: Apache-2.0
// A row of logits as sampling kernels see it: keys that sort by logit and then by id, weights with
// the processor's bits, and what is read of a row under its mask.
#pragma once

#include <cstdint>
#include <limits>

#include "kernels/cuda/sampling.h"

namespace ingot::cuda {

constexpr int kRowBlock = 64;  // kLogitBlock of kernels/sampling_ops.h
constexpr float kLowestWeightExponent = -87.0f;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
using RowKey = unsigned long long;
// Larger than every key of a number.
constexpr RowKey kBadKey = ~0ull;

__host__ __device__ inline int row_blocks(int vocab) {
  return (vocab + kRowBlock - 1) / kRowBlock;
}

// Integers in the order of the floats; both zeros are one.
__device__ inline uint32_t order_of(float x) {
  uint32_t bits = __float_as_uint(x);
  if (bits == 0x80000000u) bits = 0;
  return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}
__device__ inline float from_order(uint32_t order) {
  return __uint_as_float((order & 0x80000000u) != 0 ? order & 0x7FFFFFFFu : ~order);
}

// The larger key is the larger logit, of equal ones that with the lower id.
__device__ inline RowKey key_of(float x, int id) {
  return (static_cast<RowKey>(order_of(x)) << 32) | ~static_cast<uint32_t>(id);
}
__device__ inline float logit_of(RowKey key) {
  return from_order(static_cast<uint32_t>(key >> 32));
}
__device__ inline int id_of(RowKey key) {
  return static_cast<int>(~static_cast<uint32_t>(key));
}
// False of rows with a NaN or plus infinity, and of those with nothing above minus infinity.
__device__ inline bool is_number(RowKey top) {
  return top != kBadKey && fabsf(logit_of(top)) < kInfinity;
}

// e^a for kLowestWeightExponent < a <= 0, step by step as kernels/sampling_ops_ref.cc has it.
__device__ inline float exp_of(float a) {
  const float n = rintf(__fmul_rn(a, 1.44269504f));
  float r = fmaf(n, -0.693359375f, a);
  r = fmaf(n, 2.12194440e-4f, r);
  float p = 1.0f / 5040;
  p = fmaf(p, r, 1.0f / 720);
  p = fmaf(p, r, 1.0f / 120);
  p = fmaf(p, r, 1.0f / 24);
  p = fmaf(p, r, 1.0f / 6);
  p = fmaf(p, r, 0.5f);
  p = fmaf(__fmul_rn(r, r), p, r);
  return __fmul_rn(__fadd_rn(p, 1.0f), __int_as_float((static_cast<int>(n) + 127) << 23));
}

__device__ inline float weight_of(float x, float top, float scale) {
  const float a = fmaxf(__fmul_rn(__fsub_rn(x, top), scale), kLowestWeightExponent);
  return a > kLowestWeightExponent ? exp_of(a) : 0.0f;
}

struct RowView {
  const float* x;
  const uint32_t* mask;  // null: everything is allowed
  int vocab;

  __device__ bool allows(int id) const {
    return mask == nullptr || ((mask[id / 32] >> (id % 32)) & 1u) != 0;
  }
  __device__ float at(int id) const { return allows(id) ? x[id] : -kInfinity; }
  __device__ int blocks() const { return row_blocks(vocab); }
};

__device__ inline RowView view_of(const SamplingPass& pass, const RowPlan& plan) {
  return {pass.logits + static_cast<int64_t>(plan.row) * pass.vocab,
          plan.first_mask_word < 0 ? nullptr : pass.masks + plan.first_mask_word, pass.vocab};
}

// Below this a drawn row has nothing that min-p leaves.
__device__ inline float min_p_floor(const RowPlan& plan, float top) {
  return static_cast<float>(static_cast<double>(top) + plan.min_p_reach);
}

// The processor's sum over a block of 64: lane l has the weights l and l + 32. Eight sums, each of
// every eighth weight in order, then pairwise.
__device__ inline float sum_row_block(float first, float second) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  float sum = 0;
  for (int i = 0; i < 4; ++i)
    sum = __fadd_rn(sum, __shfl_sync(0xFFFFFFFF, first, lane % 8 + 8 * i));
  for (int i = 0; i < 4; ++i)
    sum = __fadd_rn(sum, __shfl_sync(0xFFFFFFFF, second, lane % 8 + 8 * i));
  for (int offset = 4; offset > 0; offset /= 2)
    sum = __fadd_rn(sum, __shfl_xor_sync(0xFFFFFFFF, sum, offset));
  return sum;
}

}  // namespace ingot::cuda
