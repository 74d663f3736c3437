// SPDX-License-Identifier: Apache-2.0
// Rounding of inputs, 8 columns a vector: a pass for the largest of a token or block, one for the
// codes. The same operations as the reference, so the same bits. Show it with
// `ingot bench kernels round`.
#include "kernels/cpu/avx2/input_rounding.h"

#include <immintrin.h>

#include "kernels/input_scale.h"

namespace ingot::cpu {
namespace {

__m256i first_lanes(int64_t count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)),
                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
// Eight inputs, zeros past `left`.
__m256 load(const float* x, int64_t left) {
  return left >= 8 ? _mm256_loadu_ps(x) : _mm256_maskload_ps(x, first_lanes(left));
}

uint32_t largest_lane(__m256i lanes) {
  __m128i half = _mm_max_epi32(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
  half = _mm_max_epi32(half, _mm_shuffle_epi32(half, 0x4E));
  half = _mm_max_epi32(half, _mm_shuffle_epi32(half, 0xB1));
  return static_cast<uint32_t>(_mm_cvtsi128_si32(half));
}
float least_lane(__m256 lanes) {
  __m128 half = _mm_min_ps(_mm256_castps256_ps128(lanes), _mm256_extractf128_ps(lanes, 1));
  half = _mm_min_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_min_ss(half, _mm_shuffle_ps(half, half, 1)));
}

InputScale scale_of(const float* x, int64_t count, const InputQuant& quant) {
  __m256i largest = _mm256_setzero_si256();
  __m256 least = _mm256_setzero_ps();
  __m256 less = _mm256_setzero_ps();  // than the negatives
  for (int64_t i = 0; i < count; i += 8) {
    const __m256 values = load(x + i, count - i);
    const __m256i bits =
        _mm256_and_si256(_mm256_castps_si256(values), _mm256_set1_epi32(0x7FFFFFFF));
    largest = _mm256_max_epi32(largest, bits);
    least = _mm256_min_ps(least, values);
    less = _mm256_min_ps(less, _mm256_sub_ps(_mm256_setzero_ps(), values));
  }
  return input_scale(quant, largest_lane(largest), least_lane(least), -least_lane(less));
}

__m256 clamp(__m256 values, float least, float most) {
  return _mm256_min_ps(_mm256_max_ps(values, _mm256_set1_ps(least)), _mm256_set1_ps(most));
}

__m256i int8_codes(__m256 x, const InputScale& scale) {
  const __m256 scaled = clamp(_mm256_div_ps(x, _mm256_set1_ps(scale.scale)), -512, 512);
  const __m256i codes =
      _mm256_add_epi32(_mm256_cvtps_epi32(scaled), _mm256_set1_epi32(static_cast<int>(scale.zero)));
  return codes;  // packing saturates them
}

// e4m3 values. The sum with a number 2^20 times as large as the value's power of two leaves three
// bits after the first; below 2^-6 steps are as there.
__m256 e4m3_values(__m256 x, __m256 scale) {
  const __m256 sign_bit = _mm256_set1_ps(-0.0F);
  const __m256 scaled = _mm256_div_ps(x, scale);
  const __m256 sign = _mm256_and_ps(scaled, sign_bit);
  const __m256 size = _mm256_min_ps(_mm256_andnot_ps(sign_bit, scaled), _mm256_set1_ps(448));
  const __m256 least = _mm256_max_ps(size, _mm256_set1_ps(0x1p-6F));
  const __m256i power = _mm256_and_si256(_mm256_castps_si256(least), _mm256_set1_epi32(0x7F800000));
  const __m256 shift = _mm256_castsi256_ps(_mm256_add_epi32(power, _mm256_set1_epi32(20 << 23)));
  return _mm256_or_ps(_mm256_sub_ps(_mm256_add_ps(size, shift), shift), sign);
}

int64_t block_of(const RoundArgs& args) {
  return args.quant->block > 0 ? args.quant->block : args.cols;
}

}  // namespace

void round_int8_q8g32_avx2(const RoundArgs& args, int64_t begin, int64_t end) {
  const int64_t blocks = (args.cols + kPackedColumns - 1) / kPackedColumns;
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  for (int64_t token = begin; token < end; ++token) {
    const float* x = args.x + token * args.cols;
    auto* out = reinterpret_cast<Q8G32*>(args.out) + token * blocks;
    const InputScale scale = scale_of(x, args.cols, *args.quant);
    args.scales[token] = scale.scale * scale.zero;
    const auto codes_of_8 = [&](int64_t col) {
      return int8_codes(_mm256_loadu_ps(x + col), scale);
    };
    for (int64_t i = 0; i < blocks; ++i) {
      Q8G32& block = out[i];
      block.padding = 0;
      for (int64_t group = 0; group < 8; ++group) {
        const int64_t col = i * kPackedColumns + group * 32;
        __m256i codes = _mm256_setzero_si256();
        if (col < args.cols && scale.is_usable) {
          const __m256i low = _mm256_packs_epi32(codes_of_8(col), codes_of_8(col + 8));
          const __m256i high = _mm256_packs_epi32(codes_of_8(col + 16), codes_of_8(col + 24));
          codes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high), order);
        }
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(block.codes + group * 32), codes);
        const __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), codes);
        const __m256i fours = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
        __m128i sum =
            _mm_add_epi32(_mm256_castsi256_si128(fours), _mm256_extracti128_si256(fours, 1));
        sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4E));
        sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xB1));
        block.scales[group] = col < args.cols ? scale.scale : 0.0F;
        block.sums[group] = _mm_cvtsi128_si32(sum);
        block.weighed[group] = block.scales[group] * static_cast<float>(block.sums[group]);
      }
    }
  }
}

void round_e4m3_f32_avx2(const RoundArgs& args, int64_t begin, int64_t end) {
  const int64_t width = block_of(args);
  for (int64_t token = begin; token < end; ++token) {
    for (int64_t first = 0; first < args.cols; first += width) {
      const int64_t count = args.cols - first < width ? args.cols - first : width;
      const float* x = args.x + token * args.cols + first;
      float* out = reinterpret_cast<float*>(args.out) + token * args.cols + first;
      const InputScale scale = scale_of(x, count, *args.quant);
      const __m256 factor = _mm256_set1_ps(scale.scale);
      for (int64_t i = 0; i < count; i += 8) {
        __m256 values = _mm256_setzero_ps();
        if (scale.is_usable) values = e4m3_values(load(x + i, count - i), factor);
        values = _mm256_mul_ps(values, factor);
        if (count - i >= 8) {
          _mm256_storeu_ps(out + i, values);
        } else {
          _mm256_maskstore_ps(out + i, first_lanes(count - i), values);
        }
      }
    }
  }
}

void round_e4m3_bf16_avx2(const RoundArgs& args, int64_t begin, int64_t end) {
  const int64_t width = block_of(args);
  const int64_t padded = (args.cols + 31) / 32 * 32;
  const int64_t spans = (args.cols + kScaleColumns - 1) / kScaleColumns;
  for (int64_t token = begin; token < end; ++token) {
    auto* out = reinterpret_cast<uint16_t*>(args.out) + token * padded;
    for (int64_t first = 0; first < args.cols; first += width) {
      const int64_t count = args.cols - first < width ? args.cols - first : width;
      const float* x = args.x + token * args.cols + first;
      const InputScale scale = scale_of(x, count, *args.quant);
      const __m256 factor = _mm256_set1_ps(scale.scale);
      // The last vector may reach into the padding, which is of zeros: rows are padded to 32.
      for (int64_t i = 0; i < count; i += 8) {
        __m256 values = _mm256_setzero_ps();
        if (scale.is_usable) values = e4m3_values(load(x + i, count - i), factor);
        // The upper halves of floats: an e4m3 is a bf16.
        const __m256i words = _mm256_srli_epi32(_mm256_castps_si256(values), 16);
        const __m128i halves =
            _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out + first + i), halves);
      }
      for (int64_t i = first; i < first + count; i += kScaleColumns)
        args.scales[token * spans + i / kScaleColumns] = scale.scale;
    }
    for (int64_t i = (args.cols + 7) / 8 * 8; i < padded; ++i)
      out[i] = 0;
  }
}

}  // namespace ingot::cpu
