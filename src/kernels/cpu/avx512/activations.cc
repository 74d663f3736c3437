// SPDX-License-Identifier: Apache-2.0
// Rounding inputs to bf16, to the nearest, ties to even: by whole-number arithmetic, as the
// conversion instruction would flush denormals. And packing blocks of 256 columns, or groups of
// 64, which stay in registers from the search for the largest to their codes and sums.
#include "kernels/cpu/avx512/activations.h"

#include <immintrin.h>

namespace ingot::cpu {
namespace {

__m256i round_16(__m512 values) {
  const __m512i bits = _mm512_castps_si512(values);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF)));
  const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x00400000));
  const __mmask16 is_nan = _mm512_cmp_ps_mask(values, values, _CMP_UNORD_Q);
  return _mm512_cvtepi32_epi16(
      _mm512_srli_epi32(_mm512_mask_mov_epi32(rounded, is_nan, quiet), 16));
}

constexpr float kSmallest = 0x1p-120F;  // as in the reference, of codes of 8 bits and of 13
constexpr float kSmallestOf13 = 0x1p-115F;
constexpr int32_t kInfinityBits = 0x7F800000;
constexpr int64_t kVectors = kPackedColumns / 16;

// The largest |x| as bits, so that a NaN wins.
template <int64_t Vectors>
int32_t largest_bits(const __m512 (&x)[Vectors]) {
  const __m512i magnitude_mask = _mm512_set1_epi32(0x7FFFFFFF);
  __m512i largest[4] = {};
#pragma GCC unroll 16
  for (int64_t i = 0; i < Vectors; ++i) {
    const __m512i bits = _mm512_and_si512(_mm512_castps_si512(x[i]), magnitude_mask);
    largest[i % 4] = _mm512_max_epi32(largest[i % 4], bits);
  }
  return _mm512_reduce_max_epi32(_mm512_max_epi32(_mm512_max_epi32(largest[0], largest[1]),
                                                  _mm512_max_epi32(largest[2], largest[3])));
}

// 64 codes in order: the packs work within quarters, the permute mends that.
__m512i codes_of_64(const __m512* x, __m512 inverse) {
  const auto codes = [&](int64_t i) { return _mm512_cvtps_epi32(_mm512_mul_ps(x[i], inverse)); };
  const __m512i bytes = _mm512_packs_epi16(_mm512_packs_epi32(codes(0), codes(1)),
                                           _mm512_packs_epi32(codes(2), codes(3)));
  return _mm512_permutexvar_epi32(
      _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), bytes);
}

// The sums of 16 codes each, in order.
__m256i sums_of_16(const __m512i (&codes)[4]) {
  const auto sums_of_4 = [&](int64_t i) {
    const __m512i pairs = _mm512_maddubs_epi16(_mm512_set1_epi8(1), codes[i]);
    return _mm512_madd_epi16(pairs, _mm512_set1_epi16(1));
  };
  const auto add_pairs = [](__m512i a, __m512i b) {
    return _mm512_madd_epi16(_mm512_packs_epi32(a, b), _mm512_set1_epi16(1));
  };
  // Quarter j has that of codes[i]'s quarter j at i.
  const __m512i quarters =
      add_pairs(add_pairs(sums_of_4(0), sums_of_4(1)), add_pairs(sums_of_4(2), sums_of_4(3)));
  const __m512i sums = _mm512_permutexvar_epi32(
      _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), quarters);
  return _mm512_cvtepi32_epi16(sums);
}

void pack_block(const float* x, Q8G256& block) {
  __m512 values[kVectors];
#pragma GCC unroll 16
  for (int64_t i = 0; i < kVectors; ++i)
    values[i] = _mm512_loadu_ps(x + i * 16);
  const int32_t bits = largest_bits(values);
  const float largest = _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(bits)));
  if (bits >= kInfinityBits || largest < kSmallest) {
    block = {};
    if (bits >= kInfinityBits) block.scale = __builtin_nanf("");
    return;
  }
  block.scale = largest / 127.0F;
  const __m512 inverse = _mm512_set1_ps(127.0F / largest);
  __m512i codes[4];
#pragma GCC unroll 4
  for (int64_t i = 0; i < 4; ++i) {
    codes[i] = codes_of_64(values + 4 * i, inverse);
    _mm512_storeu_si512(block.codes + i * 64, codes[i]);
  }
  const __m256i sums = sums_of_16(codes);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(block.sums_of_16), sums);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(block.sums_of_32),
                   _mm256_cvtepi32_epi16(_mm256_madd_epi16(sums, _mm256_set1_epi16(1))));
}

// 128 codes in order; returns the sum of their magnitudes.
int32_t words_of_128(const __m512 (&values)[8], float scale, int16_t* out) {
  const __m512 inverse = _mm512_set1_ps(scale);
  __m512i sizes = _mm512_setzero_si512();
#pragma GCC unroll 8
  for (int64_t i = 0; i < 8; ++i) {
    const __m512i words = _mm512_cvtps_epi32(_mm512_mul_ps(values[i], inverse));
    sizes = _mm512_add_epi32(sizes, _mm512_abs_epi32(words));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i * 16), _mm512_cvtepi32_epi16(words));
  }
  return _mm512_reduce_add_epi32(sizes);
}

// 128 codes of 13 bits.
void pack_words(const float* x, I16G128& block, int64_t group) {
  __m512 values[8];
#pragma GCC unroll 8
  for (int64_t i = 0; i < 8; ++i)
    values[i] = _mm512_loadu_ps(x + i * 16);
  int16_t* out = block.codes + group * 128;
  const int32_t bits = largest_bits(values);
  const float largest = _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(bits)));
  if (bits >= kInfinityBits || largest < kSmallestOf13) {
    __builtin_memset(out, 0, 128 * sizeof(*out));
    block.scales[group] = bits >= kInfinityBits ? __builtin_nanf("") : 0.0F;
    block.crossed[group] = 0;
    return;
  }
  float most = kMostOfI16G128;
  const int32_t sizes = words_of_128(values, most / largest, out);
  if (sizes > kMostSumOfI16G128) {
    most = static_cast<float>(kMostOfI16G128 * kUsedSumOfI16G128 / sizes);
    words_of_128(values, most / largest, out);
  }
  block.scales[group] = largest / most;
  __m512i crossed = _mm512_setzero_si512();
#pragma GCC unroll 4
  for (int64_t i = 0; i < 4; ++i) {
    const __m512i codes = _mm512_loadu_si512(out + i * 32);
    // Neighbours of two words change places, so each product is there twice.
    crossed = _mm512_add_epi32(
        crossed, _mm512_madd_epi16(codes, _mm512_shuffle_epi32(codes, _MM_PERM_CDAB)));
  }
  block.crossed[group] = _mm512_reduce_add_epi32(crossed) / 2;
}

}  // namespace

void pack_i16g128_avx512(const PackArgs& args, int64_t begin, int64_t end) {
  for (int64_t token = begin; token < end; ++token) {
    const float* x = args.x + token * args.cols;
    auto* block = reinterpret_cast<I16G128*>(args.out) + token * (args.cols / kPackedColumns);
    for (int64_t col = 0; col < args.cols; col += kPackedColumns, ++block) {
      for (int64_t group = 0; group < 2; ++group)
        pack_words(x + col + group * 128, *block, group);
    }
  }
}

void pack_q8g256_avx512(const PackArgs& args, int64_t begin, int64_t end) {
  const int64_t row_blocks = args.cols / kPackedColumns;
  for (int64_t token = begin; token < end; ++token) {
    const float* x = args.x + token * args.cols;
    auto* blocks = reinterpret_cast<Q8G256*>(args.out) + token * row_blocks;
    for (int64_t i = 0; i < row_blocks; ++i)
      pack_block(x + i * kPackedColumns, blocks[i]);
  }
}

void pack_bf16_avx512(const PackArgs& args, int64_t begin, int64_t end) {
  const int64_t width = (args.cols + 31) / 32 * 32;
  for (int64_t token = begin; token < end; ++token) {
    const float* x = args.x + token * args.cols;
    auto* out = reinterpret_cast<uint16_t*>(args.out) + token * width;
    for (int64_t col = 0; col < width; col += 16) {
      const int64_t left = args.cols - col;
      const auto mask = static_cast<__mmask16>(left >= 16  ? 0xFFFFu
                                               : left <= 0 ? 0u
                                                           : (1u << left) - 1);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + col),
                          round_16(_mm512_maskz_loadu_ps(mask, x + col)));
    }
  }
}

}  // namespace ingot::cpu
