// SPDX-License-Identifier: Apache-2.0
// Attention arithmetic on blocks of positions: the tiles of attention_tiles.h, 4 queries by 2
// positions while scoring and by 16 dimensions while mixing, and the softmax. Per query and
// position: 2 * (key_dim + value_dim) flops; a block is read from L1 by all queries.
// Show it with `ingot bench kernels attention`.
#include "kernels/cpu/avx2/attention.h"

#include "kernels/cpu/attention_tiles.h"
#include "kernels/cpu/avx2/attention_rows.h"
#include "kernels/cpu/avx2/math.h"

namespace ingot::cpu {
namespace {

// Factors of the scores from `index` on.
__m256 times(__m256 v, const float* factors, int64_t index, int64_t count) {
  if (factors == nullptr) return v;
  return _mm256_mul_ps(v, count >= 8 ? _mm256_loadu_ps(factors + index)
                                     : _mm256_maskload_ps(factors + index, lane_mask(count)));
}

__m256 logits_of(const SoftenArgs& args, __m256 scores, int64_t index, int64_t count) {
  __m256 logit = times(scores, args.key_factors, index, count);
  logit = _mm256_mul_ps(logit, _mm256_set1_ps(args.scale));
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
    const __m256 logit = logits_of(args, _mm256_loadu_ps(scores + i), i, 8);
    _mm256_storeu_ps(scores + i, logit);
    top = _mm256_max_ps(logit, top);
  }
  __m256 last = _mm256_maskload_ps(scores + whole, mask);
  last = _mm256_blendv_ps(minus_infinity, logits_of(args, last, whole, count - whole), inside);
  const __m256 largest = _mm256_set1_ps(largest_lane(_mm256_max_ps(last, top)));

  __m256 sum = _mm256_setzero_ps();
  for (int64_t i = 0; i < whole; i += 8) {
    const __m256 weight = exp_not_positive(_mm256_sub_ps(_mm256_loadu_ps(scores + i), largest));
    _mm256_storeu_ps(scores + i, times(weight, args.value_factors, i, 8));
    sum = _mm256_add_ps(sum, weight);
  }
  const __m256 weight = _mm256_and_ps(exp_not_positive(_mm256_sub_ps(last, largest)), inside);
  _mm256_maskstore_ps(scores + whole, mask,
                      times(weight, args.value_factors, whole, count - whole));
  return {_mm256_cvtss_f32(largest), sum_lanes(_mm256_add_ps(sum, weight))};
}

}  // namespace

constinit const AttentionMath kAttentionMath = {score_floats<Avx2, F32Row>, soften,
                                                mix_floats<Avx2, F32Row>};

}  // namespace ingot::cpu
