// SPDX-License-Identifier: Apache-2.0
// Packing: 8 columns a vector, two passes over a group that stays in L1 (largest value, then
// codes). Reads 4 bytes and writes about 1.2, or 2.1 of words, per column; one call per step and
// input, shared by its linears. Show it with `ingot bench kernels pack`.
#include "kernels/cpu/avx2/activations.h"

#include <immintrin.h>

namespace ingot::cpu {
namespace {

struct CodeRange {  // as in the reference
  float most;
  float smallest;  // of what has a scale
};
constexpr CodeRange kInt8{127.0F, 0x1p-120F};
constexpr CodeRange kInt13{kMostOfI16G128, 0x1p-115F};
constexpr int32_t kInfinityBits = 0x7F800000;

struct GroupScale {
  float scale;
  float inverse;  // 0 gives codes 0
  bool is_usable;
};

// The largest |x| of 8 * vectors values, compared as bits so that a NaN wins.
GroupScale scale_of(const float* x, int64_t vectors, const CodeRange& range) {
  const __m256i magnitude_mask = _mm256_set1_epi32(0x7FFFFFFF);
  __m256i largest = _mm256_setzero_si256();
  for (int64_t i = 0; i < vectors; ++i) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i * 8));
    largest = _mm256_max_epi32(largest, _mm256_and_si256(bits, magnitude_mask));
  }
  __m128i half =
      _mm_max_epi32(_mm256_castsi256_si128(largest), _mm256_extracti128_si256(largest, 1));
  half = _mm_max_epi32(half, _mm_shuffle_epi32(half, 0x4E));
  half = _mm_max_epi32(half, _mm_shuffle_epi32(half, 0xB1));
  const float value = _mm_cvtss_f32(_mm_castsi128_ps(half));
  if (_mm_cvtsi128_si32(half) >= kInfinityBits) return {__builtin_nanf(""), 0.0F, false};
  if (value < range.smallest) return {0.0F, 0.0F, false};
  return {value / range.most, range.most / value, true};
}

__m256i codes_of_8(const float* x, __m256 inverse) {
  return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x), inverse));
}

// 32 codes in order: the packs work within 128-bit halves, the permute mends that.
__m256i codes_of_32(const float* x, __m256 inverse) {
  const __m256i words_a = _mm256_packs_epi32(codes_of_8(x, inverse), codes_of_8(x + 8, inverse));
  const __m256i words_b =
      _mm256_packs_epi32(codes_of_8(x + 16, inverse), codes_of_8(x + 24, inverse));
  const __m256i bytes = _mm256_packs_epi16(words_a, words_b);
  return _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

// Sums of 16 codes each: the 128-bit halves added up in 32-bit lanes.
__m256i lane_sums(__m256i codes) {
  const __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), codes);
  return _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}
int32_t sum_of_4(__m128i lanes) {
  lanes = _mm_add_epi32(lanes, _mm_shuffle_epi32(lanes, 0x4E));
  lanes = _mm_add_epi32(lanes, _mm_shuffle_epi32(lanes, 0xB1));
  return _mm_cvtsi128_si32(lanes);
}
int32_t sum_of_8(__m256i lanes) {
  return sum_of_4(_mm_add_epi32(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1)));
}

// 128 codes in order; returns the sum of their magnitudes.
int32_t words_of_128(const float* x, float scale, int16_t* out) {
  const __m256 inverse = _mm256_set1_ps(scale);
  __m256i sizes = _mm256_setzero_si256();
  for (int64_t i = 0; i < 128; i += 16) {
    __m256i codes = _mm256_packs_epi32(codes_of_8(x + i, inverse), codes_of_8(x + i + 8, inverse));
    codes = _mm256_permute4x64_epi64(codes, 0xD8);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), codes);
    sizes =
        _mm256_add_epi32(sizes, _mm256_madd_epi16(_mm256_abs_epi16(codes), _mm256_set1_epi16(1)));
  }
  return sum_of_8(sizes);
}

// 128 codes of 13 bits.
void pack_words(const float* x, I16G128& block, int64_t group) {
  int16_t* out = block.codes + group * 128;
  GroupScale scale = scale_of(x, 16, kInt13);
  if (!scale.is_usable) {
    __builtin_memset(out, 0, 128 * sizeof(*out));
  } else if (const int32_t sizes = words_of_128(x, scale.inverse, out); sizes > kMostSumOfI16G128) {
    const int most = kMostOfI16G128 * kUsedSumOfI16G128 / sizes;
    scale = scale_of(x, 16, {static_cast<float>(most), kInt13.smallest});
    words_of_128(x, scale.inverse, out);
  }
  __m256i crossed = _mm256_setzero_si256();
  for (int64_t i = 0; i < 128; i += 16) {
    const __m256i codes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(out + i));
    // Neighbours of two words change places, so each product is there twice.
    crossed =
        _mm256_add_epi32(crossed, _mm256_madd_epi16(codes, _mm256_shuffle_epi32(codes, 0xB1)));
  }
  block.crossed[group] = sum_of_8(crossed) / 2;
  block.scales[group] = scale.scale;
}

}  // namespace

void pack_q8g32_avx2(const PackArgs& args, int64_t begin, int64_t end) {
  const int64_t row_blocks = (args.cols + kPackedColumns - 1) / kPackedColumns;
  for (int64_t token = begin; token < end; ++token) {
    const float* x = args.x + token * args.cols;
    auto* blocks = reinterpret_cast<Q8G32*>(args.out) + token * row_blocks;
    for (int64_t i = 0; i < row_blocks; ++i) {
      Q8G32& block = blocks[i];
      block.padding = 0;
      for (int64_t group = 0; group < 8; ++group) {
        const int64_t col = i * kPackedColumns + group * 32;
        const bool is_inside = col < args.cols;
        const GroupScale scale =
            is_inside ? scale_of(x + col, 4, kInt8) : GroupScale{0.0F, 0.0F, false};
        const __m256i codes = scale.is_usable ? codes_of_32(x + col, _mm256_set1_ps(scale.inverse))
                                              : _mm256_setzero_si256();
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(block.codes + group * 32), codes);
        const __m256i sums = lane_sums(codes);
        block.scales[group] = scale.scale;
        block.sums[group] = sum_of_8(sums);
        block.weighed[group] = scale.scale * static_cast<float>(block.sums[group]);
      }
    }
  }
}

void pack_i16g128_avx2(const PackArgs& args, int64_t begin, int64_t end) {
  for (int64_t token = begin; token < end; ++token) {
    const float* x = args.x + token * args.cols;
    auto* block = reinterpret_cast<I16G128*>(args.out) + token * (args.cols / kPackedColumns);
    for (int64_t col = 0; col < args.cols; col += kPackedColumns, ++block) {
      for (int64_t group = 0; group < 2; ++group)
        pack_words(x + col + group * 128, *block, group);
    }
  }
}

void pack_q8g256_avx2(const PackArgs& args, int64_t begin, int64_t end) {
  const int64_t row_blocks = args.cols / kPackedColumns;
  for (int64_t token = begin; token < end; ++token) {
    const float* x = args.x + token * args.cols;
    auto* blocks = reinterpret_cast<Q8G256*>(args.out) + token * row_blocks;
    for (int64_t i = 0; i < row_blocks; ++i) {
      Q8G256& block = blocks[i];
      const GroupScale scale = scale_of(x + i * kPackedColumns, 32, kInt8);
      block.scale = scale.scale;
      for (int64_t part = 0; part < 8; ++part) {
        const float* from = x + i * kPackedColumns + part * 32;
        const __m256i codes = scale.is_usable ? codes_of_32(from, _mm256_set1_ps(scale.inverse))
                                              : _mm256_setzero_si256();
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(block.codes + part * 32), codes);
        const __m256i sums = lane_sums(codes);
        const int32_t first = sum_of_4(_mm256_castsi256_si128(sums));
        const int32_t second = sum_of_4(_mm256_extracti128_si256(sums, 1));
        block.sums_of_16[part * 2] = static_cast<int16_t>(first);
        block.sums_of_16[part * 2 + 1] = static_cast<int16_t>(second);
        block.sums_of_32[part] = static_cast<int16_t>(first + second);
      }
    }
  }
}

}  // namespace ingot::cpu
