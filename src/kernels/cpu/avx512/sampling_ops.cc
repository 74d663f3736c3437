// SPDX-License-Identifier: Apache-2.0
// Sampling ops, one row of logits on one thread: 16 elements a vector, a block of 64 in 4 vectors.
// Sums go half by half into 8 lanes: the order is part of the op's contract. 4 bytes read an
// element. bench_sampling shows the speed.
#include "kernels/cpu/avx512/sampling_ops.h"

#include "kernels/cpu/avx512/vectors.h"

namespace ingot::cpu {
namespace {

constexpr float kInfinity = __builtin_inff();
constexpr size_t kLanes = 16;

__mmask16 inside_of(size_t count, size_t i) {
  return lane_mask_512(static_cast<int64_t>(count - i));
}
// Sixteen elements; past the end, minus infinity.
__m512 load_logits(const float* from, __mmask16 inside) {
  return _mm512_mask_loadu_ps(_mm512_set1_ps(-kInfinity), inside, from);
}

// e^a for kLowestExponent < a <= 0; ref::exp_of says why these steps.
__m512 exp_negative(__m512 a) {
  const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(a, _mm512_set1_ps(1.44269504F)),
                                        _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __m512 r = _mm512_fmadd_ps(n, _mm512_set1_ps(-0.693359375F), a);
  r = _mm512_fmadd_ps(n, _mm512_set1_ps(2.12194440e-4F), r);
  __m512 p = _mm512_set1_ps(1.0F / 5040);
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0F / 720));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0F / 120));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0F / 24));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0F / 6));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.5F));
  p = _mm512_fmadd_ps(_mm512_mul_ps(r, r), p, r);
  return _mm512_scalef_ps(_mm512_add_ps(p, _mm512_set1_ps(1.0F)), n);
}

// Both halves after one another, as 8 lanes would take them.
__m256 add_halves(__m256 sum, __m512 v) {
  return _mm256_add_ps(_mm256_add_ps(sum, _mm512_castps512_ps256(v)), upper_half(v));
}
__m256 fmadd_halves(__m512 a, __m512 b, __m256 sum) {
  sum = _mm256_fmadd_ps(_mm512_castps512_ps256(a), _mm512_castps512_ps256(b), sum);
  return _mm256_fmadd_ps(upper_half(a), upper_half(b), sum);
}

}  // namespace

bool scan_logits_avx512(const float* x, size_t count, float* block_max) {
  __mmask16 nans = 0;
  for (size_t begin = 0; begin < count; begin += kLogitBlock) {
    const size_t end = begin + kLogitBlock < count ? begin + kLogitBlock : count;
    __m512 best = _mm512_set1_ps(-kInfinity);
    for (size_t i = begin; i < end; i += kLanes) {
      const __m512 v = load_logits(x + i, inside_of(end, i));
      nans = static_cast<__mmask16>(nans | _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q));
      best = _mm512_max_ps(best, v);
    }
    block_max[begin / kLogitBlock] = _mm512_reduce_max_ps(best);
  }
  return nans == 0;
}

WeightSums weigh_logits_avx512(const float* x, size_t count, float top, float scale, float* weights,
                               float* block_sums) {
  WeightSums sums;
  const __m512 tops = _mm512_set1_ps(top);
  const __m512 scales = _mm512_set1_ps(scale);
  const __m512 lowest = _mm512_set1_ps(kLowestExponent);
  for (size_t begin = 0; begin < count; begin += kLogitBlock) {
    const size_t end = begin + kLogitBlock < count ? begin + kLogitBlock : count;
    __m256 weight_sum = _mm256_setzero_ps();
    __m256 exponent_sum = _mm256_setzero_ps();
    for (size_t i = begin; i < end; i += kLanes) {
      const __mmask16 inside = inside_of(end, i);
      const __m512 v = load_logits(x + i, inside);
      const __m512 a = _mm512_max_ps(_mm512_mul_ps(_mm512_sub_ps(v, tops), scales), lowest);
      const __m512 w =
          _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a, lowest, _CMP_GT_OQ), exp_negative(a));
      weight_sum = add_halves(weight_sum, w);
      exponent_sum = fmadd_halves(w, a, exponent_sum);
      if (weights != nullptr) _mm512_mask_storeu_ps(weights + i, inside, w);
    }
    const float sum = sum_lanes_256(weight_sum);
    block_sums[begin / kLogitBlock] = sum;
    sums.weight += static_cast<double>(sum);
    sums.exponent += static_cast<double>(sum_lanes_256(exponent_sum));
  }
  return sums;
}

size_t collect_logits_avx512(const float* x, size_t count, const float* block_max, float floor,
                             uint32_t* positions) {
  const __m512 floors = _mm512_set1_ps(floor);
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  size_t found = 0;
  for (size_t begin = 0; begin < count; begin += kLogitBlock) {
    if (block_max[begin / kLogitBlock] < floor) continue;
    const size_t end = begin + kLogitBlock < count ? begin + kLogitBlock : count;
    for (size_t i = begin; i < end; i += kLanes) {
      const __mmask16 inside = inside_of(end, i);
      const __mmask16 bits =
          _mm512_mask_cmp_ps_mask(inside, load_logits(x + i, inside), floors, _CMP_GE_OQ);
      if (bits == 0) continue;
      const __m512i at = _mm512_add_epi32(lanes, _mm512_set1_epi32(static_cast<int32_t>(i)));
      const auto kept = static_cast<size_t>(__builtin_popcount(bits));
      // Compressed in a register: a store that compresses is slow on some.
      _mm512_mask_storeu_epi32(positions + found, lane_mask_512(static_cast<int64_t>(kept)),
                               _mm512_maskz_compress_epi32(bits, at));
      found += kept;
    }
  }
  return found;
}

void mask_logits_avx512(const float* x, size_t count, const uint32_t* mask, float* out) {
  for (size_t i = 0; i < count; i += kLanes) {
    const __mmask16 inside = inside_of(count, i);
    const auto on = static_cast<__mmask16>((mask[i / 32] >> (i % 32)) & inside);
    _mm512_mask_storeu_ps(out + i, inside, load_logits(x + i, on));
  }
}

LogitMoments logit_moments_avx512(const float* x, size_t count, float center) {
  LogitMoments moments;
  const __m512 lowest = _mm512_set1_ps(-kInfinity);
  const __m512 centers = _mm512_set1_ps(center);
  for (size_t begin = 0; begin < count; begin += kLogitBlock) {
    const size_t end = begin + kLogitBlock < count ? begin + kLogitBlock : count;
    __m256 sum = _mm256_setzero_ps();
    __m256 squares = _mm256_setzero_ps();
    for (size_t i = begin; i < end; i += kLanes) {
      const __m512 v = load_logits(x + i, inside_of(end, i));
      const __mmask16 counts = _mm512_cmp_ps_mask(v, lowest, _CMP_NEQ_OQ);
      const __m512 d = _mm512_maskz_sub_ps(counts, v, centers);
      sum = add_halves(sum, d);
      squares = fmadd_halves(d, d, squares);
      moments.count += __builtin_popcount(counts);
    }
    moments.sum += static_cast<double>(sum_lanes_256(sum));
    moments.squares += static_cast<double>(sum_lanes_256(squares));
  }
  return moments;
}

}  // namespace ingot::cpu
