// SPDX-License-Identifier: Apache-2.0
// The core of all layouts with groups of 32, by activations in groups of 32. A group's products are
// whole numbers; its share p = (scale * x.scale) * sum (+ min * (x.scale * x.sum)) is rounded.
// Eight shares make a tree, ((p0+p4) + (p2+p6)) + ((p1+p5) + (p3+p7)), and the trees are added in
// sequence.
#pragma once

#include "kernels/cpu/avx2/code_tile.h"

namespace ingot::cpu {
namespace {

// Eight groups in registers: weight = scale * (code - offset) + min.
struct Unpacked32 {
  __m256i codes[8];
  __m256 scales;
  __m256 mins;
};

// Weights: Block, kMaxCode, kOffset, kIsSigned, kHasMin, unpack(block) -> codes, and scales(blocks,
// count, out) for the float parts. Groups past `count` are zero.
template <class Weights>
struct Q8G32Core {
  using Block = typename Weights::Block;
  using Input = Q8G32;

  struct Tile : CodeTile {
    __m256 scales[8];  // [groups][8 rows]
    __m256 mins[8];
  };

  static float dot(const std::byte* row, const Q8G32* x, int64_t cols) {
    const auto* blocks = reinterpret_cast<const Block*>(row);
    float total = 0;
    for (; cols >= 256; cols -= 256, blocks += 8, ++x)
      total += dot_8(blocks, 8, *x);
    if (cols > 0) total += dot_8(blocks, cols / 32, *x);
    return total;
  }

  static void fill(Tile& tile, const std::byte* weights, int64_t row_bytes, int64_t rows,
                   int64_t block, int64_t cols) {
    const int64_t left = cols / 32 - block * 8;
    const int64_t count = left < 8 ? left : 8;
    __m256i codes[8][8];
    __m256i scales[8];
    __m256i mins[8];
    for (int64_t r = 0; r < 8; ++r) {
      Unpacked32 w{};
      if (r < rows)
        unpack(reinterpret_cast<const Block*>(weights + r * row_bytes) + block * 8, count, w);
      for (int64_t i = 0; i < 8; ++i)
        codes[r][i] = w.codes[i];
      scales[r] = _mm256_castps_si256(w.scales);
      mins[r] = _mm256_castps_si256(w.mins);
    }
    interleave(codes, tile);
    transpose(scales);
    for (int64_t i = 0; i < 8; ++i)
      tile.scales[i] = _mm256_castsi256_ps(scales[i]);
    if constexpr (Weights::kHasMin) {
      transpose(mins);
      for (int64_t i = 0; i < 8; ++i)
        tile.mins[i] = _mm256_castsi256_ps(mins[i]);
    }
  }

  template <int64_t Tokens>
  static void add(const Tile& tile, const Q8G32* x, int64_t stride, float* sums) {
    __m256 even[Tokens];
    __m256 odd[Tokens];
    quad_shares<Tokens>(tile, 0, x, stride, even);
    quad_shares<Tokens>(tile, 1, x, stride, odd);
    for (int64_t t = 0; t < Tokens; ++t) {
      float* to = sums + t * kTileRows;
      _mm256_storeu_ps(to, _mm256_add_ps(_mm256_loadu_ps(to), _mm256_add_ps(even[t], odd[t])));
    }
  }

 private:
  [[gnu::always_inline]] static void unpack(const Block* blocks, int64_t count, Unpacked32& out) {
    for (int64_t i = 0; i < 8; ++i)
      out.codes[i] = i < count ? Weights::unpack(blocks[i]) : _mm256_setzero_si256();
    Weights::scales(blocks, count, out);
  }

  // Eight groups of one row: lane = group.
  [[gnu::always_inline]] static float dot_8(const Block* blocks, int64_t count, const Q8G32& x) {
    Unpacked32 w{};
    unpack(blocks, count, w);
    __m256i lanes[8];
    for (int64_t i = 0; i < 8; ++i) {
      const __m256i pairs = products<Weights>(w.codes[i], magnitudes_of<Weights>(w.codes[i]),
                                              load_32_bytes(x.codes + i * 32));
      lanes[i] = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
    }
    return sum_lanes(shares(sum_lanes_of_8(lanes), load_32_bytes(x.sums), _mm256_loadu_ps(x.scales),
                            w.scales, w.mins));
  }

  // (p[i] + p[i+4]) + (p[i+2] + p[i+6])
  template <int64_t Tokens>
  static void quad_shares(const Tile& tile, int64_t i, const Q8G32* x, int64_t stride,
                          __m256 (&out)[Tokens]) {
    __m256 other[Tokens];
    pair_shares<Tokens>(tile, i, x, stride, out);
    pair_shares<Tokens>(tile, i + 2, x, stride, other);
    for (int64_t t = 0; t < Tokens; ++t)
      out[t] = _mm256_add_ps(out[t], other[t]);
  }

  // p[i] + p[i+4]
  template <int64_t Tokens>
  static void pair_shares(const Tile& tile, int64_t i, const Q8G32* x, int64_t stride,
                          __m256 (&out)[Tokens]) {
    __m256 other[Tokens];
    group_shares<Tokens>(tile, i, x, stride, out);
    group_shares<Tokens>(tile, i + 4, x, stride, other);
    for (int64_t t = 0; t < Tokens; ++t)
      out[t] = _mm256_add_ps(out[t], other[t]);
  }

  template <int64_t Tokens>
  static void group_shares(const Tile& tile, int64_t group, const Q8G32* x, int64_t stride,
                           __m256 (&out)[Tokens]) {
    const int8_t* codes[Tokens];
    __m256i totals[Tokens];
    for (int64_t t = 0; t < Tokens; ++t) {
      codes[t] = x[t * stride].codes + group * 32;
      totals[t] = _mm256_setzero_si256();
    }
    add_products<Weights, 32>(tile.codes + group * 8, codes, _mm256_set1_epi16(1), totals);
    for (int64_t t = 0; t < Tokens; ++t) {
      const Q8G32& in = x[t * stride];
      out[t] = shares(totals[t], _mm256_set1_epi32(in.sums[group]),
                      _mm256_set1_ps(in.scales[group]), tile.scales[group], tile.mins[group]);
    }
  }

  static __m256 shares(__m256i sums, __m256i x_sums, __m256 x_scales, __m256 scales, __m256 mins) {
    if constexpr (Weights::kOffset != 0) {
      sums =
          _mm256_sub_epi32(sums, _mm256_mullo_epi32(x_sums, _mm256_set1_epi32(Weights::kOffset)));
    }
    const __m256 share = _mm256_mul_ps(_mm256_mul_ps(scales, x_scales), _mm256_cvtepi32_ps(sums));
    if constexpr (!Weights::kHasMin) return share;
    return _mm256_add_ps(share,
                         _mm256_mul_ps(mins, _mm256_mul_ps(x_scales, _mm256_cvtepi32_ps(x_sums))));
  }
};

}  // namespace
}  // namespace ingot::cpu
