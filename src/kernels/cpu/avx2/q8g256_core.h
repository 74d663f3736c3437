// SPDX-License-Identifier: Apache-2.0
// The core of all layouts with blocks of 256, by activations in groups of 256. A block's products
// are whole numbers until its end: total += (scale * x.scale) * sum, and for layouts with mins
// total -= (min_scale * x.scale) * min_sum, block by block in sequence.
#pragma once

#include "kernels/cpu/avx2/code_tile.h"

namespace ingot::cpu {
namespace {

// A block in registers. weight = scale * scales[c / 16] * code - min_scale * mins[c / 16]; a layout
// whose codes are shifted by an offset has mins = offset * scales and no min_scale of its own.
struct Unpacked256 {
  __m256i codes[8];  // bytes, in order of columns
  __m256i scales;    // 16-bit, one per 16 columns: low half 0, 2, ... 14; high half 1, 3, ... 15
  __m256i mins;      // 16-bit, one per 16 columns, in order
  float scale;
  float min_scale;
};

enum class Mins : uint8_t { kNone, kOffset, kAffine };

// Weights: Block, kGroup (columns under one scale: 16 or 32), kMaxCode, kIsSigned, kMins, unpack().
template <class Weights>
struct Q8G256Core {
  using Block = typename Weights::Block;
  using Input = Q8G256;

  struct Tile : CodeTile {
    __m256i scales[256 / Weights::kGroup];  // [groups][8 rows][2]: a row's scale twice
    __m256i mins[8];                        // [pairs of 16 columns][8 rows][2]
    __m256 scale;
    __m256 min_scale;
  };

  static float dot(const std::byte* row, const Q8G256* x, int64_t cols) {
    const auto* block = reinterpret_cast<const Block*>(row);
    float total = 0;
    for (int64_t left = cols; left > 0; left -= 256, ++block, ++x) {
      Unpacked256 w{};
      Weights::unpack(*block, w);
      __m256i sums = dot_codes(w, *x);
      __m256i min_sums = _mm256_setzero_si256();
      if constexpr (Weights::kMins != Mins::kNone)
        min_sums = _mm256_madd_epi16(w.mins, load_32_bytes(x->sums));
      if constexpr (Weights::kMins == Mins::kOffset) sums = _mm256_sub_epi32(sums, min_sums);
      if constexpr (Weights::kMins == Mins::kAffine) {
        const __m128 both = _mm_cvtepi32_ps(sum_lanes_of_2(sums, min_sums));
        const __m128 scales =
            _mm_mul_ps(_mm_setr_ps(w.scale, w.min_scale, 0, 0), _mm_set1_ps(x->scale));
        const __m128 shares = _mm_mul_ps(scales, both);
        total += _mm_cvtss_f32(shares);
        total -= _mm_cvtss_f32(_mm_movehdup_ps(shares));
      } else {
        total += w.scale * x->scale * static_cast<float>(sum_lanes(sums));
      }
    }
    return total;
  }

  static void fill(Tile& tile, const std::byte* weights, int64_t row_bytes, int64_t rows,
                   int64_t block, int64_t /*cols*/) {
    __m256i codes[8][8];
    __m256i scales[8];
    __m256i mins[8];
    alignas(32) float scale[8] = {};
    alignas(32) float min_scale[8] = {};
    for (int64_t r = 0; r < 8; ++r) {
      Unpacked256 w{};
      if (r < rows)
        Weights::unpack(reinterpret_cast<const Block*>(weights + r * row_bytes)[block], w);
      for (int64_t i = 0; i < 8; ++i)
        codes[r][i] = w.codes[i];
      const __m128i even = _mm256_castsi256_si128(w.scales);
      const __m128i odd = _mm256_extracti128_si256(w.scales, 1);
      scales[r] = _mm256_set_m128i(_mm_unpackhi_epi16(even, odd), _mm_unpacklo_epi16(even, odd));
      mins[r] = w.mins;
      scale[r] = w.scale;
      min_scale[r] = w.min_scale;
    }
    interleave(codes, tile);
    fill_scales(tile, scales);
    if constexpr (Weights::kMins != Mins::kNone) {
      transpose(mins);
      for (int64_t i = 0; i < 8; ++i)
        tile.mins[i] = mins[i];
    }
    tile.scale = _mm256_load_ps(scale);
    tile.min_scale = _mm256_load_ps(min_scale);
  }

  template <int64_t Tokens>
  static void add(const Tile& tile, const Q8G256* x, int64_t stride, float* sums) {
    const int8_t* codes[Tokens];
    __m256i totals[Tokens];
    for (int64_t t = 0; t < Tokens; ++t) {
      codes[t] = x[t * stride].codes;
      totals[t] = _mm256_setzero_si256();
    }
    for (int64_t group = 0; group < 256 / Weights::kGroup; ++group) {
      add_products<Weights, Weights::kGroup>(tile.codes + group * (Weights::kGroup / 4), codes,
                                             tile.scales[group], totals);
      for (int64_t t = 0; t < Tokens; ++t)
        codes[t] += Weights::kGroup;
    }
    for (int64_t t = 0; t < Tokens; ++t) {
      const __m256 factor = _mm256_set1_ps(x[t * stride].scale);
      __m256 total = _mm256_loadu_ps(sums + t * kTileRows);
      __m256i min_sums = _mm256_setzero_si256();
      if constexpr (Weights::kMins != Mins::kNone) min_sums = dot_mins(tile, x[t * stride]);
      if constexpr (Weights::kMins == Mins::kOffset)
        totals[t] = _mm256_sub_epi32(totals[t], min_sums);
      total = _mm256_add_ps(
          total, _mm256_mul_ps(_mm256_mul_ps(tile.scale, factor), _mm256_cvtepi32_ps(totals[t])));
      if constexpr (Weights::kMins == Mins::kAffine) {
        total = _mm256_sub_ps(total, _mm256_mul_ps(_mm256_mul_ps(tile.min_scale, factor),
                                                   _mm256_cvtepi32_ps(min_sums)));
      }
      _mm256_storeu_ps(sums + t * kTileRows, total);
    }
  }

 private:
  // The scales of columns 32i ... go to all 16-bit lanes: of its first 16 columns in the low half.
  static __m256i dot_codes(const Unpacked256& w, const Q8G256& x) {
    __m256i sums = _mm256_setzero_si256();
    for (int64_t i = 0; i < 8; ++i) {
      const __m256i pairs = products<Weights>(w.codes[i], magnitudes_of<Weights>(w.codes[i]),
                                              load_32_bytes(x.codes + i * 32));
      const __m256i scale = _mm256_shuffle_epi8(
          w.scales, _mm256_set1_epi16(static_cast<int16_t>((2 * i + 1) * 256 + 2 * i)));
      sums = _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, scale));
    }
    return sums;
  }

  static __m256i dot_mins(const Tile& tile, const Q8G256& x) {
    __m256i sums = _mm256_setzero_si256();
    for (int64_t i = 0; i < 8; ++i)
      sums = _mm256_add_epi32(sums,
                              _mm256_madd_epi16(tile.mins[i], broadcast_4_bytes(x.sums + 2 * i)));
    return sums;
  }

  static void fill_scales(Tile& tile, __m256i (&scales)[8]) {
    transpose(scales);  // now [pairs of 16 columns][8 rows][2]
    const __m256i first = _mm256_set1_epi32(0x01000100);
    const __m256i rows = _mm256_setr_epi32(0, 0x04040404, 0x08080808, 0x0C0C0C0C, 0, 0x04040404,
                                           0x08080808, 0x0C0C0C0C);
    const __m256i take_first = _mm256_add_epi8(first, rows);
    const __m256i take_second = _mm256_add_epi8(take_first, _mm256_set1_epi8(2));
    for (int64_t i = 0; i < 8; ++i) {
      if constexpr (Weights::kGroup == 32) {
        tile.scales[i] = scales[i];  // both halves are the same already
      } else {
        tile.scales[2 * i] = _mm256_shuffle_epi8(scales[i], take_first);
        tile.scales[2 * i + 1] = _mm256_shuffle_epi8(scales[i], take_second);
      }
    }
  }
};

}  // namespace
}  // namespace ingot::cpu
