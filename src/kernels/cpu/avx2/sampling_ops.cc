// SPDX-License-Identifier: Apache-2.0
// Sampling ops, one row of logits on one thread: 8 elements a vector, a block of 64 in 8 vectors.
// 4 bytes read an element. A scan of 128k runs at the speed of the cache the row is in; weighing
// is bound by its 10 multiply-adds a vector. bench_sampling shows both.
#include "kernels/cpu/avx2/sampling_ops.h"

#include "kernels/cpu/avx2/vectors.h"

namespace ingot::cpu {
namespace {

constexpr float kInfinity = __builtin_inff();

// For each movemask, the lanes that are on, packed to the front.
struct PackTable {
  uint8_t lanes[256][8];
};
constexpr PackTable make_pack_table() {
  PackTable table{};
  for (unsigned bits = 0; bits < 256; ++bits) {
    unsigned at = 0;
    for (unsigned lane = 0; lane < 8; ++lane)
      if (((bits >> lane) & 1u) != 0) table.lanes[bits][at++] = static_cast<uint8_t>(lane);
  }
  return table;
}
constexpr PackTable kPack = make_pack_table();

// Eight elements; past the end, `other`.
__m256 load_or(const float* from, int64_t count, float other) {
  if (count >= 8) return _mm256_loadu_ps(from);
  const __m256i inside = lane_mask(count);
  return _mm256_blendv_ps(_mm256_set1_ps(other), _mm256_maskload_ps(from, inside),
                          _mm256_castsi256_ps(inside));
}

// e^a for kLowestExponent < a <= 0; ref::exp_of says why these steps.
__m256 exp_negative(__m256 a) {
  const __m256 n = _mm256_round_ps(_mm256_mul_ps(a, _mm256_set1_ps(1.44269504F)),
                                   _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __m256 r = _mm256_fmadd_ps(n, _mm256_set1_ps(-0.693359375F), a);
  r = _mm256_fmadd_ps(n, _mm256_set1_ps(2.12194440e-4F), r);
  __m256 p = _mm256_set1_ps(1.0F / 5040);
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0F / 720));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0F / 120));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0F / 24));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0F / 6));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0.5F));
  p = _mm256_fmadd_ps(_mm256_mul_ps(r, r), p, r);
  p = _mm256_add_ps(p, _mm256_set1_ps(1.0F));
  // p is in [0.7, 1.42] and the result normal: adding to the exponent scales exactly.
  return _mm256_castsi256_ps(
      _mm256_add_epi32(_mm256_castps_si256(p), _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23)));
}

float largest_lane(__m256 v) {
  __m128 half = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  half = _mm_max_ps(half, _mm_movehl_ps(half, half));
  half = _mm_max_ss(half, _mm_movehdup_ps(half));
  return _mm_cvtss_f32(half);
}

struct Weights {
  __m256 top = _mm256_setzero_ps();
  __m256 scale = _mm256_setzero_ps();
  __m256 weight_sum = _mm256_setzero_ps();
  __m256 exponent_sum = _mm256_setzero_ps();

  __m256 add(__m256 x) {
    const __m256 lowest = _mm256_set1_ps(kLowestExponent);
    const __m256 a = _mm256_max_ps(_mm256_mul_ps(_mm256_sub_ps(x, top), scale), lowest);
    const __m256 w = _mm256_and_ps(exp_negative(a), _mm256_cmp_ps(a, lowest, _CMP_GT_OQ));
    weight_sum = _mm256_add_ps(weight_sum, w);
    exponent_sum = _mm256_fmadd_ps(w, a, exponent_sum);
    return w;
  }
};

}  // namespace

bool scan_logits_avx2(const float* x, size_t count, float* block_max) {
  __m256 nans = _mm256_setzero_ps();
  size_t begin = 0;
  for (; begin + kLogitBlock <= count; begin += kLogitBlock) {
    __m256 v[8];
    for (size_t i = 0; i < 8; ++i)
      v[i] = _mm256_loadu_ps(x + begin + 8 * i);
    for (size_t i = 0; i < 8; i += 2)
      nans = _mm256_or_ps(nans, _mm256_cmp_ps(v[i], v[i + 1], _CMP_UNORD_Q));
    for (size_t step = 4; step > 0; step /= 2)
      for (size_t i = 0; i < step; ++i)
        v[i] = _mm256_max_ps(v[i], v[i + step]);
    block_max[begin / kLogitBlock] = largest_lane(v[0]);
  }
  if (begin < count) {
    __m256 best = _mm256_set1_ps(-kInfinity);
    for (size_t i = begin; i < count; i += 8) {
      const __m256 v = load_or(x + i, static_cast<int64_t>(count - i), -kInfinity);
      nans = _mm256_or_ps(nans, _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
      best = _mm256_max_ps(best, v);
    }
    block_max[begin / kLogitBlock] = largest_lane(best);
  }
  return _mm256_movemask_ps(nans) == 0;
}

WeightSums weigh_logits_avx2(const float* x, size_t count, float top, float scale, float* weights,
                             float* block_sums) {
  WeightSums sums;
  const __m256 tops = _mm256_set1_ps(top);
  const __m256 scales = _mm256_set1_ps(scale);
  for (size_t begin = 0; begin < count; begin += kLogitBlock) {
    Weights block{tops, scales};
    if (begin + kLogitBlock <= count) {
      for (size_t i = begin; i < begin + kLogitBlock; i += 8) {
        const __m256 w = block.add(_mm256_loadu_ps(x + i));
        if (weights != nullptr) _mm256_storeu_ps(weights + i, w);
      }
    } else {
      for (size_t i = begin; i < count; i += 8) {
        const auto left = static_cast<int64_t>(count - i);
        const __m256 w = block.add(load_or(x + i, left, -kInfinity));
        if (weights == nullptr) continue;
        if (left >= 8) {
          _mm256_storeu_ps(weights + i, w);
        } else {
          _mm256_maskstore_ps(weights + i, lane_mask(left), w);
        }
      }
    }
    const float sum = sum_lanes(block.weight_sum);
    block_sums[begin / kLogitBlock] = sum;
    sums.weight += static_cast<double>(sum);
    sums.exponent += static_cast<double>(sum_lanes(block.exponent_sum));
  }
  return sums;
}

size_t collect_logits_avx2(const float* x, size_t count, const float* block_max, float floor,
                           uint32_t* positions) {
  const __m256 floors = _mm256_set1_ps(floor);
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  size_t found = 0;
  for (size_t begin = 0; begin < count; begin += kLogitBlock) {
    if (block_max[begin / kLogitBlock] < floor) continue;
    const size_t end = begin + kLogitBlock < count ? begin + kLogitBlock : count;
    for (size_t i = begin; i < end; i += 8) {
      const auto left = static_cast<int64_t>(end - i);
      const __m256 v = load_or(x + i, left, -kInfinity);
      auto bits = static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(v, floors, _CMP_GE_OQ)));
      if (left < 8) bits &= (1u << left) - 1u;  // a floor of minus infinity takes the padding too
      const __m256i order = _mm256_cvtepu8_epi32(
          _mm_loadl_epi64(reinterpret_cast<const __m128i*>(kPack.lanes[bits])));
      const __m256i at = _mm256_add_epi32(lanes, _mm256_set1_epi32(static_cast<int32_t>(i)));
      // Eight are stored, of which the next store overwrites what did not count.
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(positions + found),
                          _mm256_permutevar8x32_epi32(at, order));
      found += static_cast<size_t>(__builtin_popcount(bits));
    }
  }
  return found;
}

void mask_logits_avx2(const float* x, size_t count, const uint32_t* mask, float* out) {
  const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  const __m256 lowest = _mm256_set1_ps(-kInfinity);
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const uint32_t bits = mask[i / 32] >> (i % 32);
    const __m256i on = _mm256_cmpeq_epi32(
        _mm256_and_si256(_mm256_set1_epi32(static_cast<int32_t>(bits)), bit), bit);
    _mm256_storeu_ps(out + i,
                     _mm256_blendv_ps(lowest, _mm256_loadu_ps(x + i), _mm256_castsi256_ps(on)));
  }
  for (; i < count; ++i)
    out[i] = ((mask[i / 32] >> (i % 32)) & 1u) != 0 ? x[i] : -kInfinity;
}

LogitMoments logit_moments_avx2(const float* x, size_t count, float center) {
  LogitMoments moments;
  const __m256 lowest = _mm256_set1_ps(-kInfinity);
  const __m256 centers = _mm256_set1_ps(center);
  for (size_t begin = 0; begin < count; begin += kLogitBlock) {
    const size_t end = begin + kLogitBlock < count ? begin + kLogitBlock : count;
    __m256 sum = _mm256_setzero_ps();
    __m256 squares = _mm256_setzero_ps();
    for (size_t i = begin; i < end; i += 8) {
      const __m256 v = load_or(x + i, static_cast<int64_t>(end - i), -kInfinity);
      const __m256 counts = _mm256_cmp_ps(v, lowest, _CMP_NEQ_OQ);
      const __m256 d = _mm256_and_ps(_mm256_sub_ps(v, centers), counts);
      sum = _mm256_add_ps(sum, d);
      squares = _mm256_fmadd_ps(d, d, squares);
      moments.count += __builtin_popcount(static_cast<unsigned>(_mm256_movemask_ps(counts)));
    }
    moments.sum += static_cast<double>(sum_lanes(sum));
    moments.squares += static_cast<double>(sum_lanes(squares));
  }
  return moments;
}

}  // namespace ingot::cpu
