// SPDX-License-Identifier: Apache-2.0
// Attention parts. A score is one 8-lane sum over the key's dimensions, reduced in the order of
// sum_lanes; a tile is 2 heads by 4 positions (or 1 by 8), so that a key is loaded and widened once
// for both heads. Mixing keeps lanes = dimensions and adds positions in ascending order.
// Per query and position: 2 * (key_dim + value_dim) flops a head, the cache read once per 4 heads.
// Show it with `bench_kernels attention`.
#include "kernels/cpu/avx2/attention.h"

#include "kernels/cpu/avx2/math.h"
#include "kernels/cpu/avx2/vectors.h"

namespace ingot::cpu {
namespace {

void store_some(F32Elements /*unused*/, const float* from, std::byte* to) {
  _mm256_storeu_ps(reinterpret_cast<float*>(to), _mm256_loadu_ps(from));
}
void store_some(F16Elements /*unused*/, const float* from, std::byte* to) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                   _mm256_cvtps_ph(_mm256_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT));
}
void store_some(BF16Elements /*unused*/, const float* from, std::byte* to) {
  const __m256 value = _mm256_loadu_ps(from);
  const __m256i bits = _mm256_castps_si256(value);
  // Ties to even: add 0x7FFF and the lowest bit that stays. A NaN keeps its top bits, made quiet.
  const __m256i lowest = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i rounded = _mm256_srli_epi32(
      _mm256_add_epi32(bits, _mm256_add_epi32(lowest, _mm256_set1_epi32(0x7FFF))), 16);
  const __m256i quiet = _mm256_or_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(0x40));
  const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
  const __m256i words = _mm256_blendv_epi8(rounded, quiet, is_nan);
  const __m256i packed = _mm256_packus_epi32(words, words);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                   _mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0x08)));
}

template <class Elements>
void store(const float* from, int64_t count, std::byte* to) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    store_some(Elements{}, from + i, to + i * Elements::kBytes);
  if (i == count) return;
  float padded[8] = {};
  std::byte stored[32];
  __builtin_memcpy(padded, from + i, static_cast<size_t>(count - i) * sizeof(float));
  store_some(Elements{}, padded, stored);
  __builtin_memcpy(to + i * Elements::kBytes, stored,
                   static_cast<size_t>((count - i) * Elements::kBytes));
}

template <class Elements, int64_t Heads, int64_t Positions>
void score_tile(const float* q, const std::byte* keys, int64_t dim, __m256 (&sums)[8]) {
  static_assert(Heads * Positions <= 8);
  for (__m256& sum : sums)
    sum = _mm256_setzero_ps();
  const auto step = [&](auto load_q, auto load_key) {
    __m256 in[Heads];
    for (int64_t h = 0; h < Heads; ++h)
      in[h] = load_q(q + h * dim);
    for (int64_t p = 0; p < Positions; ++p) {
      const __m256 key = load_key(keys + p * dim * Elements::kBytes);
      for (int64_t h = 0; h < Heads; ++h)
        sums[h * Positions + p] = _mm256_fmadd_ps(key, in[h], sums[h * Positions + p]);
    }
  };
  int64_t d = 0;
  for (; d + 8 <= dim; d += 8) {
    step([d](const float* from) { return _mm256_loadu_ps(from + d); },
         [d](const std::byte* from) { return Elements::load(from + d * Elements::kBytes); });
  }
  if (const int64_t rest = dim - d; rest != 0) {
    const __m256i mask = lane_mask(rest);
    step([d, mask](const float* from) { return _mm256_maskload_ps(from + d, mask); },
         [d, rest](const std::byte* from) {
           return Elements::load_some(from + d * Elements::kBytes, rest);
         });
  }
}

template <class Elements>
void score(const float* q, int64_t heads, const CacheRun& keys, float* scores, int64_t stride) {
  const int64_t key_bytes = keys.dim * Elements::kBytes;
  __m256 sums[8];
  int64_t h = 0;
  for (; h + 2 <= heads; h += 2) {
    int64_t i = 0;
    for (; i + 4 <= keys.count; i += 4) {
      score_tile<Elements, 2, 4>(q + h * keys.dim, keys.data + i * key_bytes, keys.dim, sums);
      const __m256 both = sum_lanes_of_8(sums);
      _mm_storeu_ps(scores + h * stride + i, _mm256_castps256_ps128(both));
      _mm_storeu_ps(scores + (h + 1) * stride + i, _mm256_extractf128_ps(both, 1));
    }
    for (; i < keys.count; ++i) {
      score_tile<Elements, 2, 1>(q + h * keys.dim, keys.data + i * key_bytes, keys.dim, sums);
      scores[h * stride + i] = sum_lanes(sums[0]);
      scores[(h + 1) * stride + i] = sum_lanes(sums[1]);
    }
  }
  if (h == heads) return;
  int64_t i = 0;
  for (; i + 8 <= keys.count; i += 8) {
    score_tile<Elements, 1, 8>(q + h * keys.dim, keys.data + i * key_bytes, keys.dim, sums);
    _mm256_storeu_ps(scores + h * stride + i, sum_lanes_of_8(sums));
  }
  for (; i < keys.count; ++i) {
    score_tile<Elements, 1, 1>(q + h * keys.dim, keys.data + i * key_bytes, keys.dim, sums);
    scores[h * stride + i] = sum_lanes(sums[0]);
  }
}

// `position` counts from the first one seen.
__m256 logits_of(const SoftenArgs& args, __m256 scores, int64_t position, int64_t count) {
  __m256 logit = _mm256_mul_ps(scores, _mm256_set1_ps(args.scale));
  if (args.softcap != 0) {
    const __m256d cap = _mm256_set1_pd(static_cast<double>(args.softcap));
    logit = by_doubles(logit, [cap](__m256d v) {
      return _mm256_mul_pd(cap, tanh_doubles(_mm256_div_pd(v, cap)));
    });
  }
  if (args.slope != 0) {
    const __m256 distance = _mm256_cvtepi32_ps(
        _mm256_add_epi32(_mm256_set1_epi32(static_cast<int32_t>(position - (count - 1))),
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
float soften(const SoftenArgs& args, float* scores, int64_t count) {
  const int64_t whole = count & ~int64_t{7};
  const __m256i mask = lane_mask(count - whole);
  const __m256 inside = _mm256_castsi256_ps(mask);

  const __m256 minus_infinity = _mm256_set1_ps(-__builtin_inff());
  __m256 top = _mm256_set1_ps(args.sink == nullptr ? -__builtin_inff() : *args.sink);
  for (int64_t i = 0; i < whole; i += 8) {
    const __m256 logit = logits_of(args, _mm256_loadu_ps(scores + i), i, count);
    _mm256_storeu_ps(scores + i, logit);
    top = _mm256_max_ps(logit, top);
  }
  __m256 last = _mm256_maskload_ps(scores + whole, mask);
  last = _mm256_blendv_ps(minus_infinity, logits_of(args, last, whole, count), inside);
  const __m256 largest = _mm256_set1_ps(largest_lane(_mm256_max_ps(last, top)));

  __m256 sum = _mm256_setzero_ps();
  for (int64_t i = 0; i < whole; i += 8) {
    const __m256 weight = exp_floats(_mm256_sub_ps(_mm256_loadu_ps(scores + i), largest));
    _mm256_storeu_ps(scores + i, weight);
    sum = _mm256_add_ps(sum, weight);
  }
  const __m256 weight = _mm256_and_ps(exp_floats(_mm256_sub_ps(last, largest)), inside);
  _mm256_maskstore_ps(scores + whole, mask, weight);
  const float total = sum_lanes(_mm256_add_ps(sum, weight));
  if (args.sink == nullptr) return total;
  const __m256 sink = exp_floats(_mm256_sub_ps(_mm256_set1_ps(*args.sink), largest));
  return total + _mm256_cvtss_f32(sink);
}

template <class Elements, int64_t Heads, int64_t Vectors>
void mix_tile(const float* weights, int64_t stride, const CacheRun& values, int64_t d, float* out) {
  __m256 acc[Heads][Vectors];
  for (int64_t h = 0; h < Heads; ++h) {
    for (int64_t v = 0; v < Vectors; ++v)
      acc[h][v] = _mm256_loadu_ps(out + h * values.dim + d + v * 8);
  }
  const std::byte* value = values.data + d * Elements::kBytes;
  for (int64_t i = 0; i < values.count; ++i, value += values.dim * Elements::kBytes) {
    __m256 in[Vectors];
    for (int64_t v = 0; v < Vectors; ++v)
      in[v] = Elements::load(value + v * 8 * Elements::kBytes);
    for (int64_t h = 0; h < Heads; ++h) {
      const __m256 weight = _mm256_set1_ps(weights[h * stride + i]);
      for (int64_t v = 0; v < Vectors; ++v)
        acc[h][v] = _mm256_fmadd_ps(weight, in[v], acc[h][v]);
    }
  }
  for (int64_t h = 0; h < Heads; ++h) {
    for (int64_t v = 0; v < Vectors; ++v)
      _mm256_storeu_ps(out + h * values.dim + d + v * 8, acc[h][v]);
  }
}

// The last dim % 8 dimensions of one head.
template <class Elements>
void mix_rest(const float* weights, const CacheRun& values, int64_t d, float* out) {
  const int64_t rest = values.dim - d;
  const __m256i mask = lane_mask(rest);
  __m256 acc = _mm256_maskload_ps(out + d, mask);
  for (int64_t i = 0; i < values.count; ++i) {
    const __m256 in =
        Elements::load_some(values.data + (i * values.dim + d) * Elements::kBytes, rest);
    acc = _mm256_fmadd_ps(_mm256_set1_ps(weights[i]), in, acc);
  }
  _mm256_maskstore_ps(out + d, mask, acc);
}

template <class Elements, int64_t Heads, int64_t Vectors>
void mix_heads(const float* weights, int64_t stride, const CacheRun& values, float* out) {
  int64_t d = 0;
  for (; d + Vectors * 8 <= values.dim; d += Vectors * 8)
    mix_tile<Elements, Heads, Vectors>(weights, stride, values, d, out);
  for (; d + 8 <= values.dim; d += 8)
    mix_tile<Elements, Heads, 1>(weights, stride, values, d, out);
  if (d == values.dim) return;
  for (int64_t h = 0; h < Heads; ++h)
    mix_rest<Elements>(weights + h * stride, values, d, out + h * values.dim);
}

template <class Elements>
void mix(const float* weights, int64_t stride, int64_t heads, const CacheRun& values, float* out) {
  int64_t h = 0;
  for (; h + 4 <= heads; h += 4)
    mix_heads<Elements, 4, 2>(weights + h * stride, stride, values, out + h * values.dim);
  for (; h + 2 <= heads; h += 2)
    mix_heads<Elements, 2, 4>(weights + h * stride, stride, values, out + h * values.dim);
  for (; h < heads; ++h)
    mix_heads<Elements, 1, 8>(weights + h * stride, stride, values, out + h * values.dim);
}

template <class Elements>
constexpr AttentionParts parts() {
  return {Elements::kBytes, store<Elements>, score<Elements>, soften, mix<Elements>};
}

}  // namespace

constinit const AttentionParts kAttentionF32 = parts<F32Elements>();
constinit const AttentionParts kAttentionF16 = parts<F16Elements>();
constinit const AttentionParts kAttentionBf16 = parts<BF16Elements>();

}  // namespace ingot::cpu
