// SPDX-License-Identifier: Apache-2.0
// Attention arithmetic on blocks of positions: scores of attention_scores.h, 4 queries by 16
// positions, the tiles of attention_tiles.h, 4 queries by 64 dimensions, while mixing, and the
// softmax. Per query and position: 2 * (key_dim + value_dim) flops; a block is read from L1 by all
// queries.
// Show it with `ingot bench kernels attention`.
#include "kernels/cpu/avx512/attention.h"

#include "kernels/cpu/attention_tiles.h"
#include "kernels/cpu/avx512/attention_rows.h"
#include "kernels/cpu/avx512/attention_scores.h"
#include "kernels/cpu/avx512/math.h"

namespace ingot::cpu {
namespace {

// Factors of the scores from `index` on.
__m512 times(__m512 v, const float* factors, int64_t index, __mmask16 inside) {
  if (factors == nullptr) return v;
  return _mm512_mul_ps(v, _mm512_maskz_loadu_ps(inside, factors + index));
}

__m512 logits_of(const SoftenArgs& args, __m512 scores, int64_t index, __mmask16 inside) {
  __m512 logit = times(scores, args.key_factors, index, inside);
  logit = _mm512_mul_ps(logit, _mm512_set1_ps(args.scale));
  if (args.softcap != 0) {
    const __m512d cap = _mm512_set1_pd(static_cast<double>(args.softcap));
    logit = by_doubles(logit, [cap](__m512d v) {
      return _mm512_mul_pd(cap, tanh_doubles(_mm512_div_pd(v, cap)));
    });
  }
  if (args.slope != 0) {
    const __m512 distance = _mm512_cvtepi32_ps(
        _mm512_add_epi32(_mm512_set1_epi32(static_cast<int32_t>(args.first_distance + index)),
                         _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)));
    logit = _mm512_add_ps(logit, _mm512_mul_ps(_mm512_set1_ps(args.slope), distance));
  }
  return logit;
}

// Lane j takes scores j, j + 16, ... The last vector goes masked and apart.
Softened soften(const SoftenArgs& args, float* scores, int64_t count) {
  constexpr __mmask16 kAll = 0xFFFF;
  const int64_t whole = count & ~int64_t{15};
  const __mmask16 inside = lane_mask_512(count - whole);

  const __m512 minus_infinity = _mm512_set1_ps(-__builtin_inff());
  __m512 top = minus_infinity;
  for (int64_t i = 0; i < whole; i += 16) {
    const __m512 logit = logits_of(args, _mm512_loadu_ps(scores + i), i, kAll);
    _mm512_storeu_ps(scores + i, logit);
    top = _mm512_max_ps(logit, top);
  }
  __m512 last = _mm512_maskz_loadu_ps(inside, scores + whole);
  last = _mm512_mask_mov_ps(minus_infinity, inside, logits_of(args, last, whole, inside));
  const __m512 largest = _mm512_set1_ps(_mm512_reduce_max_ps(_mm512_max_ps(last, top)));

  __m512 sum = _mm512_setzero_ps();
  for (int64_t i = 0; i < whole; i += 16) {
    const __m512 weight = exp_not_positive(_mm512_sub_ps(_mm512_loadu_ps(scores + i), largest));
    _mm512_storeu_ps(scores + i, times(weight, args.value_factors, i, kAll));
    sum = _mm512_add_ps(sum, weight);
  }
  const __m512 weight = _mm512_maskz_mov_ps(inside, exp_not_positive(_mm512_sub_ps(last, largest)));
  _mm512_mask_storeu_ps(scores + whole, inside, times(weight, args.value_factors, whole, inside));
  return {_mm512_cvtss_f32(largest), sum_lanes_512(_mm512_add_ps(sum, weight))};
}

}  // namespace

constinit const AttentionMath kAttentionMathAvx512 = {score_block, soften,
                                                      mix_floats<Avx512, F32Row>};

}  // namespace ingot::cpu
