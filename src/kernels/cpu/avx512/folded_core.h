// SPDX-License-Identifier: Apache-2.0
// The arithmetic of Q2_K and Q3_K, whose codes of two or three bits have a scale for every 16
// columns (see panel_walk.h). A code times its scale fits a byte, so with many tokens the scales
// are multiplied into the codes once, and no sum of products stops before the block's end: for 16
// rows by 256 columns 64 dot instructions, of Q2_K 8 more for its minimums. With few tokens that
// would not pay; the sums of two groups, of 16 bits, then share a lane, and one instruction
// multiplies them by their scales: 27 and 38 vector instructions for 32 columns of 16 rows.
#pragma once

#include "kernels/cpu/avx512/blocks_core.h"

namespace ingot::cpu {
namespace {

template <int Bits, class PackedScales, int Offset>
struct FoldedCore {
  using Plain = BlocksCore<Bits, 16, PackedScales, Offset>;
  using Input = Q8G256;
  static constexpr int64_t kFewTokens = Bits == 2 ? 16 : 8;
  static constexpr bool kHasMin = Plain::kHasMin;  // the codes of two bits
  static constexpr int64_t kPairs = Plain::kPairs;
  static constexpr int64_t kRunBytes = Plain::kRunBytes;
  static constexpr int64_t kPassTokens = kTileTokens;
  static constexpr int64_t kScaleBytes = Plain::kScaleBytes;
  static_assert(Bits == (kHasMin ? 2 : 3));
  // Most tokens at a time for which folding does not pay.
  static constexpr int64_t kFewest = kHasMin ? 6 : kDirectTokens;
  // (code - 4) * scale of three bits is between -124 and 128; this keeps it without sign.
  static constexpr int kFoldedOffset = 127;

  struct alignas(64) Tile {
    __m512i codes[64];
    __m512i min_pairs[kPairs];
    __m512 scale;
    __m512 min_scale;
  };

  // Words of two neighbouring groups, [16 rows][2].
  struct Pairs {
    __m512i scales;
    __m512i mins;
  };
  static Pairs read_pairs(const PackedScales& scales, int64_t pair) {
    const __m256i bytes =
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(scales.group_scales[pair]));
    if constexpr (!kHasMin) return {_mm512_cvtepi8_epi16(bytes), _mm512_setzero_si512()};
    const __m512i both = _mm512_cvtepu8_epi16(bytes);
    return {_mm512_and_si512(both, _mm512_set1_epi16(0xF)), _mm512_srli_epi16(both, 4)};
  }
  // The bytes of a row's four that are named, -1: zero.
  static __m512i bytes_of_rows(__m512i rows, int first, int second, int third, int fourth) {
    const auto byte = [](int from, int row) { return from < 0 ? 0x80 : from + 4 * row; };
    int32_t order[4];
    for (int row = 0; row < 4; ++row)
      order[row] = static_cast<int32_t>(static_cast<uint32_t>(byte(first, row)) |
                                        static_cast<uint32_t>(byte(second, row)) << 8 |
                                        static_cast<uint32_t>(byte(third, row)) << 16 |
                                        static_cast<uint32_t>(byte(fourth, row)) << 24);
    return _mm512_shuffle_epi8(
        rows, _mm512_broadcast_i32x4(_mm_setr_epi32(order[0], order[1], order[2], order[3])));
  }

  // A run's codes times their scales.
  static void fold_run(const std::byte* run, const Pairs& pairs, __m512i (&out)[8]) {
    if constexpr (kHasMin) {
      read_two_bits(run, out);
      const __m512i factors[2] = {bytes_of_rows(pairs.scales, 0, 1, 0, 1),
                                  bytes_of_rows(pairs.scales, 2, 3, 2, 3)};
#pragma GCC unroll 8
      for (int64_t i = 0; i < 8; ++i)  // at most 45, so that neither byte of a word carries
        out[i] = _mm512_mullo_epi16(out[i], factors[i / 4]);
    } else {
      const __m512i raised = _mm512_add_epi16(pairs.scales, _mm512_set1_epi16(32));
      fold_line<0>(run, bytes_of_rows(raised, 0, -1, -1, -1), out);
      fold_line<1>(run, bytes_of_rows(raised, 2, -1, -1, -1), out);
    }
  }
  // A line of two bits and its third ones. What the two bits of each of a register's four rows
  // stand for is a table of 16 bytes; the third bit adds four scales.
  template <int Line>
  static void fold_line(const std::byte* run, __m512i raised, __m512i (&out)[8]) {
    const __m512i fours = _mm512_mullo_epi32(raised, _mm512_set1_epi32(0x04040404));
    // (code - 4) * (raised - 32) + 127, whole numbers of a byte.
    const __m512i table = _mm512_add_epi8(
        _mm512_mullo_epi32(raised, _mm512_set1_epi32(0x03020100)),
        _mm512_sub_epi8(_mm512_set1_epi32(static_cast<int32_t>(0x9FBFDFFFu)), fours));
    const __m512i third = _mm512_xor_si512(fours, every_byte(0x80));  // four scales
    const __m512i bits = load_line(run + 2 * kLine);
    const __m512i line = load_line(run + Line * kLine);
    const auto put = [&]<int Part>() {
      constexpr int kTo = 4 * Line + Part;
      // (line & 3) | place of the row
      const __m512i index = _mm512_ternarylogic_epi32(
          moved<-2 * Part>(line), every_byte(3),
          _mm512_broadcast_i32x4(_mm_setr_epi32(0, 0x04040404, 0x08080808, 0x0C0C0C0C)), 0xEA);
      const __m512i value = _mm512_shuffle_epi8(table, index);
      out[kTo] = _mm512_mask_add_epi8(value, _mm512_test_epi8_mask(bits, every_byte(1 << kTo)),
                                      value, third);
    };
    put.template operator()<0>();
    put.template operator()<1>();
    put.template operator()<2>();
    put.template operator()<3>();
  }
  // What the folded codes of a block begin with.
  static __m512i start(const Q8G256& x) {
    if constexpr (kHasMin) return _mm512_setzero_si512();
    const __m128i sums = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x.sums_of_32));
    __m128i sum = _mm_madd_epi16(sums, _mm_set1_epi16(-kFoldedOffset));
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4E));
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xB1));
    return _mm512_broadcastd_epi32(sum);
  }
  static __m512 finish_block(__m512 sum, __m512i total, __m512i min_sum, __m512 scale,
                             __m512 min_scale, float x_scale) {
    if constexpr (kHasMin)
      return Plain::finish_block(sum, total, min_sum, scale, min_scale, x_scale);
    return _mm512_fmadd_ps(_mm512_mul_ps(scale, _mm512_cvtepi32_ps(total)), _mm512_set1_ps(x_scale),
                           sum);
  }

  template <int64_t Tokens>
  static void direct(const std::byte* panel, const LinearArgs& args, const Q8G256* x,
                     int64_t stride, float* out) {
    const std::byte* run = panel;
    __m512 sums[Tokens];
    for (int64_t t = 0; t < Tokens; ++t)
      sums[t] = _mm512_setzero_ps();
    for (int64_t block = 0; block < args.cols / kPackedColumns; ++block, ++x) {
      const auto& scales = *reinterpret_cast<const PackedScales*>(run);
      prefetch_run<Tokens, kRunBytes>(run, kScaleBytes, args.weights_ahead);
      run += kScaleBytes;
      __m512i totals[Tokens];
      __m512i min_sums[Tokens];
      if constexpr (Tokens <= kFewest) {
        multiply_few<Tokens>(scales, run, args.weights_ahead, x, stride, totals, min_sums);
      } else {
        multiply_folded<Tokens>(scales, run, args.weights_ahead, x, stride, totals, min_sums);
      }
      run += 8 * kRunBytes;
      const __m512 scale = Plain::scale_of(scales);
      const __m512 min_scale = Plain::min_scale_of(scales);
#pragma GCC unroll 8
      for (int64_t t = 0; t < Tokens; ++t)
        sums[t] =
            finish_block(sums[t], totals[t], min_sums[t], scale, min_scale, x[t * stride].scale);
    }
    for (int64_t t = 0; t < Tokens; ++t)
      _mm512_store_ps(out + t * 16, sums[t]);
  }

  template <int64_t Tokens>
  static void multiply_folded(const PackedScales& scales, const std::byte* run, WeightsAhead ahead,
                              const Q8G256* x, int64_t stride, __m512i (&totals)[Tokens],
                              __m512i (&min_sums)[Tokens]) {
#pragma GCC unroll 8
    for (int64_t t = 0; t < Tokens; ++t) {
      totals[t] = start(x[t * stride]);
      min_sums[t] = _mm512_setzero_si512();
    }
    for (int64_t r = 0; r < kPairs; ++r, run += kRunBytes) {
      prefetch_run<Tokens, kRunBytes>(run, kRunBytes, ahead);
      const Pairs pairs = read_pairs(scales, r);
      __m512i codes[8];
      fold_run(run, pairs, codes);
#pragma GCC unroll 8
      for (int64_t t = 0; t < Tokens; ++t) {
        const Q8G256& in = x[t * stride];
#pragma GCC unroll 8
        for (int64_t i = 0; i < 8; ++i)
          totals[t] = _mm512_dpbusd_epi32(totals[t], codes[i],
                                          broadcast_4_bytes(in.codes + r * 32 + 4 * i));
        if constexpr (kHasMin)
          min_sums[t] = _mm512_dpwssd_epi32(min_sums[t], pairs.mins,
                                            broadcast_4_bytes(in.sums_of_16 + 2 * r));
      }
    }
  }

  template <int64_t Tokens>
  static void multiply_few(const PackedScales& scales, const std::byte* run, WeightsAhead ahead,
                           const Q8G256* x, int64_t stride, __m512i (&totals)[Tokens],
                           __m512i (&min_sums)[Tokens]) {
    alignas(64) int16_t taken_off[Tokens][16];
#pragma GCC unroll 8
    for (int64_t t = 0; t < Tokens; ++t) {
      totals[t] = min_sums[t] = _mm512_setzero_si512();
      if constexpr (!kHasMin) take_off(x[t * stride], taken_off[t]);
    }
    for (int64_t r = 0; r < kPairs; ++r, run += kRunBytes) {
      if (ahead != WeightsAhead::kByItself) prefetch_run<Tokens, kRunBytes>(run, kRunBytes, ahead);
      const Pairs pairs = read_pairs(scales, r);
      __m512i codes[8];
      read_apart(run, codes);
#pragma GCC unroll 8
      for (int64_t t = 0; t < Tokens; ++t) {
        const Q8G256& in = x[t * stride];
        totals[t] = _mm512_dpwssd_epi32(totals[t], dot_groups<Tokens>(codes, in.codes + r * 32),
                                        pairs.scales);
        if constexpr (kHasMin) {
          min_sums[t] = _mm512_dpwssd_epi32(min_sums[t], pairs.mins,
                                            broadcast_4_bytes(in.sums_of_16 + 2 * r));
        } else {
          totals[t] =
              _mm512_dpwssd_epi32(totals[t], pairs.scales, broadcast_4_bytes(taken_off[t] + 2 * r));
        }
      }
    }
  }
  // Codes without a shift of their own wherever another's will do, so some are multiples: of two
  // bits the odd ones four times, of three bits those of the second group sixteen times.
  static void read_apart(const std::byte* run, __m512i (&out)[8]) {
    if constexpr (kHasMin) {
#pragma GCC unroll 2
      for (int64_t i = 0; i < 2; ++i) {
        const __m512i line = load_line(run + i * kLine);
        const __m512i upper = moved<-4>(line);
        out[4 * i] = _mm512_and_si512(line, every_byte(3));
        out[4 * i + 1] = _mm512_and_si512(line, every_byte(12));
        out[4 * i + 2] = _mm512_and_si512(upper, every_byte(3));
        out[4 * i + 3] = _mm512_and_si512(upper, every_byte(12));
      }
    } else {
      const __m512i first = load_line(run);
      const __m512i second = load_line(run + kLine);
      const __m512i third = load_line(run + 2 * kLine);
      const __m512i thirds[4] = {moved<2>(third), moved<1>(third), third, moved<-1>(third)};
      const __m512i firsts[4] = {first, moved<-2>(first), moved<-4>(first), moved<-6>(first)};
      const __m512i seconds[4] = {moved<4>(second), moved<2>(second), second, moved<-2>(second)};
#pragma GCC unroll 4
      for (int64_t i = 0; i < 4; ++i) {
        out[i] = with_bits(_mm512_and_si512(firsts[i], every_byte(3)), thirds[i], every_byte(4));
        out[4 + i] =
            with_bits(_mm512_and_si512(seconds[i], every_byte(0x30)), thirds[i], every_byte(0x40));
      }
    }
  }
  // The sums of products of two groups as words of a lane. Of three bits the first's is kFirstBias
  // more, so that it is not negative and leaves the second's alone.
  static constexpr int kFirstBias = 1 << 14;
  template <int64_t Tokens>
  static __m512i dot_groups(const __m512i (&codes)[8], const int8_t* in) {
    const auto add = [&](__m512i sum, int64_t i) {
      return _mm512_dpbusd_epi32(sum, codes[i], broadcast_4_bytes(in + 4 * i));
    };
    if constexpr (kHasMin) {
      const __m512i zero = _mm512_setzero_si512();
      const __m512i first = add(add(_mm512_srai_epi32(add(add(zero, 1), 3), 2), 0), 2);
      const __m512i second = add(add(_mm512_slli_epi32(add(add(zero, 4), 6), 2), 5), 7);
      return with_bits(_mm512_slli_epi32(second, 14), first, _mm512_set1_epi32(0xFFFF));
    } else {
      // The second's sum is a multiple of 16: what lies below becomes the bias of the first. One
      // chain is an instruction less, two are shorter: what counts depends on the tokens' number.
      const __m512i second = _mm512_slli_epi32(
          add(add(add(add(_mm512_set1_epi32(kFirstBias >> 12), 4), 5), 6), 7), 12);
      if constexpr (Tokens > 4) return add(add(add(add(second, 0), 1), 2), 3);
      return _mm512_add_epi32(second, add(add(add(add(_mm512_setzero_si512(), 0), 1), 2), 3));
    }
  }
  static void take_off(const Q8G256& x, int16_t* out) {
    const __m256i sums = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x.sums_of_16));
    const __m256i offsets = _mm256_mullo_epi16(sums, _mm256_set1_epi16(-Offset));
    _mm256_store_si256(reinterpret_cast<__m256i*>(out),
                       _mm256_sub_epi16(offsets, _mm256_set1_epi32(kFirstBias)));
  }

  static void fill(const std::byte* panel, const LinearArgs&, int64_t block, Tile& tile) {
    const std::byte* at = panel + block * (kScaleBytes + 8 * kRunBytes);
    const auto& scales = *reinterpret_cast<const PackedScales*>(at);
    for (int64_t r = 0; r < kPairs; ++r) {
      const Pairs pairs = read_pairs(scales, r);
      __m512i codes[8];
      fold_run(at + kScaleBytes + r * kRunBytes, pairs, codes);
#pragma GCC unroll 8
      for (int64_t i = 0; i < 8; ++i)
        tile.codes[r * 8 + i] = codes[i];
      if constexpr (kHasMin) tile.min_pairs[r] = pairs.mins;
    }
    tile.scale = Plain::scale_of(scales);
    if constexpr (kHasMin) tile.min_scale = Plain::min_scale_of(scales);
  }

  template <int64_t Panels, int64_t Tokens>
  static void add(const Tile* tiles, const LinearArgs&, int64_t, const Q8G256* x, int64_t stride,
                  float* sums) {
    __m512i totals[Panels][Tokens];
    const int8_t* in[Tokens];
#pragma GCC unroll 6
    for (int64_t t = 0; t < Tokens; ++t) {
      in[t] = x[t * stride].codes;
      totals[0][t] = start(x[t * stride]);
      if constexpr (Panels == 2) totals[1][t] = totals[0][t];
    }
    for (int64_t line = 0; line < 64; line += 4) {
#pragma GCC unroll 4
      for (int64_t i = line; i < line + 4; ++i) {
        __m512i codes[Panels];
#pragma GCC unroll 2
        for (int64_t p = 0; p < Panels; ++p)
          codes[p] = tiles[p].codes[i];
#pragma GCC unroll 6
        for (int64_t t = 0; t < Tokens; ++t) {
          const __m512i four = broadcast_4_bytes(in[t] + i * 4);
#pragma GCC unroll 2
          for (int64_t p = 0; p < Panels; ++p)
            totals[p][t] = dot_bytes(totals[p][t], codes[p], four);
        }
      }
    }
    [[maybe_unused]] __m512i min_sums[Panels][Tokens];
    if constexpr (kHasMin) {
#pragma GCC unroll 2
      for (int64_t p = 0; p < Panels; ++p)
#pragma GCC unroll 6
        for (int64_t t = 0; t < Tokens; ++t)
          min_sums[p][t] = _mm512_setzero_si512();
#pragma GCC unroll 8
      for (int64_t pair = 0; pair < kPairs; ++pair) {
#pragma GCC unroll 6
        for (int64_t t = 0; t < Tokens; ++t) {
          const __m512i two = broadcast_4_bytes(x[t * stride].sums_of_16 + 2 * pair);
#pragma GCC unroll 2
          for (int64_t p = 0; p < Panels; ++p) {
            min_sums[p][t] = _mm512_dpwssd_epi32(min_sums[p][t], tiles[p].min_pairs[pair], two);
          }
        }
      }
    }
#pragma GCC unroll 2
    for (int64_t p = 0; p < Panels; ++p) {
      const __m512 scale = tiles[p].scale;
      const __m512 min_scale = kHasMin ? tiles[p].min_scale : scale;
#pragma GCC unroll 6
      for (int64_t t = 0; t < Tokens; ++t) {
        float* sum = sums + t * kTokenSums + p * 16;
        _mm512_store_ps(sum, finish_block(_mm512_load_ps(sum), totals[p][t], min_sums[p][t], scale,
                                          min_scale, x[t * stride].scale));
      }
    }
  }
};

using FoldedBlocks2Min = FoldedCore<2, BlockScales4, 0>;
using FoldedBlocks3 = FoldedCore<3, BlockScales16, 4>;

}  // namespace
}  // namespace ingot::cpu
