// SPDX-License-Identifier: Apache-2.0
// Attention arithmetic on blocks of positions. A score is one 8-lane sum over the key's dimensions,
// reduced in the order of sum_lanes; a tile is 2 queries by 4 positions (or 1 by 4), 16 registers
// of sums. Mixing keeps lanes = dimensions and adds positions in ascending order, 4 queries by 16
// dimensions at a time. Per query and position: 2 * (key_dim + value_dim) flops; a block is read
// from L1 by all queries. Show it with `ingot bench kernels attention`.
#include "kernels/cpu/neon/attention.h"

#include "kernels/cpu/neon/math.h"
#include "kernels/cpu/neon/vectors.h"

namespace ingot::cpu {
namespace {

constexpr float kInfinity = __builtin_inff();

template <int64_t Queries, int64_t Positions>
void score_tile(const float* q, const float* keys, int64_t dim,
                Floats8 (&sums)[Queries * Positions]) {
  for (Floats8& sum : sums)
    sum = all_8(0);
  const auto step = [&](auto load) {
    Floats8 in[Queries];
    for (int64_t n = 0; n < Queries; ++n)
      in[n] = load(q + n * dim);
    for (int64_t p = 0; p < Positions; ++p) {
      const Floats8 key = load(keys + p * dim);
      for (int64_t n = 0; n < Queries; ++n)
        sums[n * Positions + p] = multiply_add(key, in[n], sums[n * Positions + p]);
    }
  };
  int64_t d = 0;
  for (; d + 8 <= dim; d += 8)
    step([d](const float* from) { return load_8(from + d); });
  if (d == dim) return;
  step([d, dim](const float* from) { return load_some(from + d, dim - d); });
}

template <int64_t Queries>
void score_queries(const float* q, const PositionBlock& keys, float* scores, int64_t stride) {
  int64_t i = 0;
  for (; i + 4 <= keys.count; i += 4) {
    Floats8 sums[Queries * 4];
    score_tile<Queries, 4>(q, keys.data + i * keys.dim, keys.dim, sums);
    for (int64_t n = 0; n < Queries; ++n)
      vst1q_f32(scores + n * stride + i, sum_lanes_of_4(sums + n * 4));
  }
  for (; i < keys.count; ++i) {
    Floats8 sums[Queries];
    score_tile<Queries, 1>(q, keys.data + i * keys.dim, keys.dim, sums);
    for (int64_t n = 0; n < Queries; ++n)
      scores[n * stride + i] = sum_lanes(sums[n]);
  }
}

void score(const float* q, int64_t queries, const PositionBlock& keys, float* scores,
           int64_t stride) {
  int64_t n = 0;
  for (; n + 2 <= queries; n += 2)
    score_queries<2>(q + n * keys.dim, keys, scores + n * stride, stride);
  if (n < queries) score_queries<1>(q + n * keys.dim, keys, scores + n * stride, stride);
}

float32x4_t logits_of(const SoftenArgs& args, float32x4_t scores, int64_t index) {
  float32x4_t logit = vmulq_n_f32(scores, args.scale);
  if (args.softcap != 0) {
    const float64x2_t cap = vdupq_n_f64(static_cast<double>(args.softcap));
    logit = by_doubles(
        logit, [cap](float64x2_t v) { return vmulq_f64(cap, tanh_doubles(vdivq_f64(v, cap))); });
  }
  if (args.slope != 0) {
    constexpr int32_t kLanes[4] = {0, 1, 2, 3};
    const int32x4_t distance = vaddq_s32(
        vdupq_n_s32(static_cast<int32_t>(args.first_distance + index)), vld1q_s32(kLanes));
    logit = vaddq_f32(logit, vmulq_n_f32(vcvtq_f32_s32(distance), args.slope));
  }
  return logit;
}
Floats8 logits_of_8(const SoftenArgs& args, Floats8 scores, int64_t index) {
  return {logits_of(args, scores.low, index), logits_of(args, scores.high, index + 4)};
}

Floats8 larger(Floats8 a, Floats8 b) {
  return {vmaxq_f32(a.low, b.low), vmaxq_f32(a.high, b.high)};
}
Floats8 weights_of(Floats8 logits, Floats8 largest) {
  const Floats8 below = subtract(logits, largest);
  return {exp_floats(below.low), exp_floats(below.high)};
}

// Lane j takes scores j, j + 8, ... The last ones go apart, minus infinity behind them.
Softened soften(const SoftenArgs& args, float* scores, int64_t count) {
  const int64_t whole = count & ~int64_t{7};
  Floats8 top = all_8(-kInfinity);
  for (int64_t i = 0; i < whole; i += 8) {
    const Floats8 logit = logits_of_8(args, load_8(scores + i), i);
    store_8(scores + i, logit);
    top = larger(logit, top);
  }
  float rest[8];
  store_8(rest, logits_of_8(args, load_some(scores + whole, count - whole), whole));
  const Floats8 last = load_some(rest, count - whole, -kInfinity);
  top = larger(last, top);
  const float top_logit = vmaxvq_f32(vmaxq_f32(top.low, top.high));
  const Floats8 largest = all_8(top_logit);

  Floats8 sum = all_8(0);
  for (int64_t i = 0; i < whole; i += 8) {
    const Floats8 weight = weights_of(load_8(scores + i), largest);
    store_8(scores + i, weight);
    sum = add(sum, weight);
  }
  // Again, as lanes past the end are no numbers where the largest is minus infinity.
  store_8(rest, weights_of(last, largest));
  const Floats8 weight = load_some(rest, count - whole);
  store_some(scores + whole, count - whole, weight);
  return {top_logit, sum_lanes(add(sum, weight))};
}

template <int64_t Queries, int64_t Vectors>
void mix_tile(const float* weights, int64_t stride, const PositionBlock& values, int64_t d,
              float* out) {
  float32x4_t acc[Queries][Vectors];
  for (int64_t n = 0; n < Queries; ++n) {
    for (int64_t v = 0; v < Vectors; ++v)
      acc[n][v] = vld1q_f32(out + n * values.dim + d + v * 4);
  }
  const float* value = values.data + d;
  for (int64_t i = 0; i < values.count; ++i, value += values.dim) {
    float32x4_t in[Vectors];
    for (int64_t v = 0; v < Vectors; ++v)
      in[v] = vld1q_f32(value + v * 4);
    for (int64_t n = 0; n < Queries; ++n) {
      const float32x4_t weight = vld1q_dup_f32(weights + n * stride + i);
      for (int64_t v = 0; v < Vectors; ++v)
        acc[n][v] = vfmaq_f32(acc[n][v], weight, in[v]);
    }
  }
  for (int64_t n = 0; n < Queries; ++n) {
    for (int64_t v = 0; v < Vectors; ++v)
      vst1q_f32(out + n * values.dim + d + v * 4, acc[n][v]);
  }
}

// The last dim % 4 dimensions of one query.
void mix_rest(const float* weights, const PositionBlock& values, int64_t d, float* out) {
  for (; d < values.dim; ++d) {
    float acc = out[d];
    for (int64_t i = 0; i < values.count; ++i)
      acc = __builtin_fmaf(weights[i], values.data[i * values.dim + d], acc);
    out[d] = acc;
  }
}

template <int64_t Queries, int64_t Vectors>
void mix_queries(const float* weights, int64_t stride, const PositionBlock& values, float* out) {
  int64_t d = 0;
  for (; d + Vectors * 4 <= values.dim; d += Vectors * 4)
    mix_tile<Queries, Vectors>(weights, stride, values, d, out);
  for (; d + 4 <= values.dim; d += 4)
    mix_tile<Queries, 1>(weights, stride, values, d, out);
  if (d == values.dim) return;
  for (int64_t n = 0; n < Queries; ++n)
    mix_rest(weights + n * stride, values, d, out + n * values.dim);
}

void mix(const float* weights, int64_t stride, int64_t queries, const PositionBlock& values,
         float* out) {
  int64_t n = 0;
  for (; n + 4 <= queries; n += 4)
    mix_queries<4, 4>(weights + n * stride, stride, values, out + n * values.dim);
  for (; n + 2 <= queries; n += 2)
    mix_queries<2, 8>(weights + n * stride, stride, values, out + n * values.dim);
  for (; n < queries; ++n)
    mix_queries<1, 8>(weights + n * stride, stride, values, out + n * values.dim);
}

}  // namespace

constinit const AttentionMath kAttentionMath = {score, soften, mix};

}  // namespace ingot::cpu
