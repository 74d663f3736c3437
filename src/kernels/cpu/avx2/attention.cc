// SPDX-License-Identifier: Apache-2.0
// Attention arithmetic on blocks of positions. A score is one 8-lane sum over the key's dimensions,
// reduced in the order of sum_lanes; a tile is 2 queries by 4 positions (or 1 by 8). Mixing keeps
// lanes = dimensions and adds positions in ascending order, 4 queries by 16 dimensions at a time.
// Per query and position: 2 * (key_dim + value_dim) flops; a block is read from L1 by all queries.
// Show it with `ingot bench kernels attention`.
#include "kernels/cpu/avx2/attention.h"

#include "kernels/cpu/avx2/math.h"
#include "kernels/cpu/avx2/vectors.h"

namespace ingot::cpu {
namespace {

template <int64_t Queries, int64_t Positions>
void score_tile(const float* q, const float* keys, int64_t dim, __m256 (&sums)[8]) {
  static_assert(Queries * Positions <= 8);
  for (__m256& sum : sums)
    sum = _mm256_setzero_ps();
  const auto step = [&](auto load) {
    __m256 in[Queries];
    for (int64_t n = 0; n < Queries; ++n)
      in[n] = load(q + n * dim);
    for (int64_t p = 0; p < Positions; ++p) {
      const __m256 key = load(keys + p * dim);
      for (int64_t n = 0; n < Queries; ++n)
        sums[n * Positions + p] = _mm256_fmadd_ps(key, in[n], sums[n * Positions + p]);
    }
  };
  int64_t d = 0;
  for (; d + 8 <= dim; d += 8)
    step([d](const float* from) { return _mm256_loadu_ps(from + d); });
  if (d == dim) return;
  const __m256i mask = lane_mask(dim - d);
  step([d, mask](const float* from) { return _mm256_maskload_ps(from + d, mask); });
}

void score(const float* q, int64_t queries, const PositionBlock& keys, float* scores,
           int64_t stride) {
  const int64_t dim = keys.dim;
  __m256 sums[8];
  int64_t n = 0;
  for (; n + 2 <= queries; n += 2) {
    int64_t i = 0;
    for (; i + 4 <= keys.count; i += 4) {
      score_tile<2, 4>(q + n * dim, keys.data + i * dim, dim, sums);
      const __m256 both = sum_lanes_of_8(sums);
      _mm_storeu_ps(scores + n * stride + i, _mm256_castps256_ps128(both));
      _mm_storeu_ps(scores + (n + 1) * stride + i, _mm256_extractf128_ps(both, 1));
    }
    for (; i < keys.count; ++i) {
      score_tile<2, 1>(q + n * dim, keys.data + i * dim, dim, sums);
      scores[n * stride + i] = sum_lanes(sums[0]);
      scores[(n + 1) * stride + i] = sum_lanes(sums[1]);
    }
  }
  if (n == queries) return;
  int64_t i = 0;
  for (; i + 8 <= keys.count; i += 8) {
    score_tile<1, 8>(q + n * dim, keys.data + i * dim, dim, sums);
    _mm256_storeu_ps(scores + n * stride + i, sum_lanes_of_8(sums));
  }
  for (; i < keys.count; ++i) {
    score_tile<1, 1>(q + n * dim, keys.data + i * dim, dim, sums);
    scores[n * stride + i] = sum_lanes(sums[0]);
  }
}

__m256 logits_of(const SoftenArgs& args, __m256 scores, int64_t index) {
  __m256 logit = _mm256_mul_ps(scores, _mm256_set1_ps(args.scale));
  if (args.softcap != 0) {
    const __m256d cap = _mm256_set1_pd(static_cast<double>(args.softcap));
    logit = by_doubles(logit, [cap](__m256d v) {
      return _mm256_mul_pd(cap, tanh_doubles(_mm256_div_pd(v, cap)));
    });
  }
  if (args.slope != 0) {
    const __m256 distance = _mm256_cvtepi32_ps(
        _mm256_add_epi32(_mm256_set1_epi32(static_cast<int32_t>(args.first_distance + index)),
                         _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)));
    logit = _mm256_add_ps(logit, _mm256_mul_ps(_mm256_set1_ps(args.slope), distance));
  }
  return logit;
}

float largest_lane(__m256 v) {
  __m128 half = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  half = _mm_max_ps(half, _mm_movehl_ps(half, half));
  half = _mm_max_ss(half, _mm_movehdup_ps(half));
  return _mm_cvtss_f32(half);
}

// Lane j takes scores j, j + 8, ... The last vector goes masked and apart: masked stores are slow.
Softened soften(const SoftenArgs& args, float* scores, int64_t count) {
  const int64_t whole = count & ~int64_t{7};
  const __m256i mask = lane_mask(count - whole);
  const __m256 inside = _mm256_castsi256_ps(mask);

  const __m256 minus_infinity = _mm256_set1_ps(-__builtin_inff());
  __m256 top = minus_infinity;
  for (int64_t i = 0; i < whole; i += 8) {
    const __m256 logit = logits_of(args, _mm256_loadu_ps(scores + i), i);
    _mm256_storeu_ps(scores + i, logit);
    top = _mm256_max_ps(logit, top);
  }
  __m256 last = _mm256_maskload_ps(scores + whole, mask);
  last = _mm256_blendv_ps(minus_infinity, logits_of(args, last, whole), inside);
  const __m256 largest = _mm256_set1_ps(largest_lane(_mm256_max_ps(last, top)));

  __m256 sum = _mm256_setzero_ps();
  for (int64_t i = 0; i < whole; i += 8) {
    const __m256 weight = exp_floats(_mm256_sub_ps(_mm256_loadu_ps(scores + i), largest));
    _mm256_storeu_ps(scores + i, weight);
    sum = _mm256_add_ps(sum, weight);
  }
  const __m256 weight = _mm256_and_ps(exp_floats(_mm256_sub_ps(last, largest)), inside);
  _mm256_maskstore_ps(scores + whole, mask, weight);
  return {_mm256_cvtss_f32(largest), sum_lanes(_mm256_add_ps(sum, weight))};
}

template <int64_t Queries, int64_t Vectors>
void mix_tile(const float* weights, int64_t stride, const PositionBlock& values, int64_t d,
              float* out) {
  __m256 acc[Queries][Vectors];
  for (int64_t n = 0; n < Queries; ++n) {
    for (int64_t v = 0; v < Vectors; ++v)
      acc[n][v] = _mm256_loadu_ps(out + n * values.dim + d + v * 8);
  }
  const float* value = values.data + d;
  for (int64_t i = 0; i < values.count; ++i, value += values.dim) {
    __m256 in[Vectors];
    for (int64_t v = 0; v < Vectors; ++v)
      in[v] = _mm256_loadu_ps(value + v * 8);
    for (int64_t n = 0; n < Queries; ++n) {
      const __m256 weight = _mm256_set1_ps(weights[n * stride + i]);
      for (int64_t v = 0; v < Vectors; ++v)
        acc[n][v] = _mm256_fmadd_ps(weight, in[v], acc[n][v]);
    }
  }
  for (int64_t n = 0; n < Queries; ++n) {
    for (int64_t v = 0; v < Vectors; ++v)
      _mm256_storeu_ps(out + n * values.dim + d + v * 8, acc[n][v]);
  }
}

// The last dim % 8 dimensions of one query.
void mix_rest(const float* weights, const PositionBlock& values, int64_t d, float* out) {
  const __m256i mask = lane_mask(values.dim - d);
  __m256 acc = _mm256_maskload_ps(out + d, mask);
  for (int64_t i = 0; i < values.count; ++i) {
    const __m256 in = _mm256_maskload_ps(values.data + i * values.dim + d, mask);
    acc = _mm256_fmadd_ps(_mm256_set1_ps(weights[i]), in, acc);
  }
  _mm256_maskstore_ps(out + d, mask, acc);
}

template <int64_t Queries, int64_t Vectors>
void mix_queries(const float* weights, int64_t stride, const PositionBlock& values, float* out) {
  int64_t d = 0;
  for (; d + Vectors * 8 <= values.dim; d += Vectors * 8)
    mix_tile<Queries, Vectors>(weights, stride, values, d, out);
  for (; d + 8 <= values.dim; d += 8)
    mix_tile<Queries, 1>(weights, stride, values, d, out);
  if (d == values.dim) return;
  for (int64_t n = 0; n < Queries; ++n)
    mix_rest(weights + n * stride, values, d, out + n * values.dim);
}

void mix(const float* weights, int64_t stride, int64_t queries, const PositionBlock& values,
         float* out) {
  int64_t n = 0;
  for (; n + 4 <= queries; n += 4)
    mix_queries<4, 2>(weights + n * stride, stride, values, out + n * values.dim);
  for (; n + 2 <= queries; n += 2)
    mix_queries<2, 4>(weights + n * stride, stride, values, out + n * values.dim);
  for (; n < queries; ++n)
    mix_queries<1, 8>(weights + n * stride, stride, values, out + n * values.dim);
}

}  // namespace

constinit const AttentionMath kAttentionMath = {score, soften, mix};

}  // namespace ingot::cpu
