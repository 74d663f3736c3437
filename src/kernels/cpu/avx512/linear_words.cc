// SPDX-License-Identifier: Apache-2.0
// F16 as whole numbers by inputs of 13 bits, two columns in one dot product: twice the multiplies
// of float FMA, and inputs rounded less than to bf16. For 128 columns of 16 rows 64 dot
// instructions and two multiplies. Nothing is unpacked: a tile is where the panel's codes lie. Show
// it with `ingot bench kernels f16words`.
//
// Many tokens take half as many dots, by Winograd's inner product (1968):
//   w0 x0 + w2 x2 = (w0 + x2) (w2 + x0) - w0 w2 - x0 x2
// where the last two terms are sums of a row and of a token alone. What it costs are two additions
// for every dot, of which the processor makes twice as many in a tick. Whole numbers do not round:
// the sums are the same, and so are they when one wraps on its way.
#include "kernels/cpu/avx512/linear.h"
#include "kernels/cpu/avx512/panel_walk.h"

namespace ingot::cpu {
namespace {

struct WordsCore {
  using Input = I16G128;
  static constexpr int64_t kPassTokens = tile_tokens(4);
  static constexpr int64_t kFewTokens = 16;
  static constexpr int64_t kScaleBytes = kLine;
  static constexpr int64_t kRunBytes = 16 * kLine;  // of 32 columns
  static constexpr int64_t kGroups = 2;             // of a block
  static constexpr int64_t kPairs = 64;             // of a group

  struct Tile {
    const std::byte* codes;
    __m512 scales[kGroups];
    __m512i crossed[kGroups];  // what the sums begin with: minus the sum of w0 w2
  };

  static __m512 scale_of(const std::byte* block, int64_t group) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + group * 16));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu8_epi32(bytes), 23));
  }

  // The sums of a group's products.
  template <int64_t Panels, int64_t Tokens>
  static void multiply(const std::byte* const (&codes)[Panels], const I16G128* x, int64_t stride,
                       int64_t group, __m512i (&sums)[Panels][Tokens]) {
    // Few sums would wait for themselves: two chains each.
    constexpr int64_t kChains = Panels * Tokens < 4 ? 2 : 1;
    __m512i chains[kChains][Panels][Tokens];
#pragma GCC unroll 2
    for (int64_t c = 0; c < kChains; ++c)
#pragma GCC unroll 2
      for (int64_t p = 0; p < Panels; ++p)
#pragma GCC unroll 8
        for (int64_t t = 0; t < Tokens; ++t)
          chains[c][p][t] = _mm512_setzero_si512();
    for (int64_t first = group * kPairs; first < (group + 1) * kPairs; first += 4) {
#pragma GCC unroll 4
      for (int64_t i = 0; i < 4; ++i) {
        __m512i weights[Panels];
#pragma GCC unroll 2
        for (int64_t p = 0; p < Panels; ++p)
          weights[p] = _mm512_loadu_si512(codes[p] + (first + i) * kLine);
#pragma GCC unroll 8
        for (int64_t t = 0; t < Tokens; ++t) {
          const __m512i two = broadcast_4_bytes(x[t * stride].codes + 2 * (first + i));
#pragma GCC unroll 2
          for (int64_t p = 0; p < Panels; ++p) {
            __m512i& sum = chains[i % kChains][p][t];
            sum = _mm512_dpwssd_epi32(sum, weights[p], two);
          }
        }
      }
    }
#pragma GCC unroll 2
    for (int64_t p = 0; p < Panels; ++p)
#pragma GCC unroll 8
      for (int64_t t = 0; t < Tokens; ++t)
        sums[p][t] = kChains == 1 ? chains[0][p][t]
                                  : _mm512_add_epi32(chains[0][p][t], chains[kChains - 1][p][t]);
  }
  // The same for many tokens.
  template <int64_t Panels, int64_t Tokens>
  static void multiply_crossed(const Tile* tiles, const I16G128* x, int64_t stride, int64_t group,
                               __m512i (&sums)[Panels][Tokens]) {
#pragma GCC unroll 2
    for (int64_t p = 0; p < Panels; ++p)
#pragma GCC unroll 8
      for (int64_t t = 0; t < Tokens; ++t)
        sums[p][t] = _mm512_sub_epi32(tiles[p].crossed[group],
                                      _mm512_set1_epi32(x[t * stride].crossed[group]));
    const int16_t* in[Tokens];
#pragma GCC unroll 8
    for (int64_t t = 0; t < Tokens; ++t) {
      in[t] = x[t * stride].codes;
      asm("" : "+r"(in[t]));
    }
    for (int64_t first = group * kPairs; first < (group + 1) * kPairs; first += 4) {
#pragma GCC unroll 2
      for (int64_t i = first; i < first + 4; i += 2) {
        __m512i weights[Panels][2];
#pragma GCC unroll 2
        for (int64_t p = 0; p < Panels; ++p) {
          weights[p][0] = in_register(_mm512_loadu_si512(tiles[p].codes + i * kLine));
          weights[p][1] = in_register(_mm512_loadu_si512(tiles[p].codes + (i + 1) * kLine));
        }
#pragma GCC unroll 8
        for (int64_t t = 0; t < Tokens; ++t) {
          const __m512i x0 = in_register(broadcast_4_bytes(in[t] + 2 * i));
          const __m512i x2 = in_register(broadcast_4_bytes(in[t] + 2 * i + 2));
#pragma GCC unroll 2
          for (int64_t p = 0; p < Panels; ++p)
            sums[p][t] = dot_words(sums[p][t], _mm512_add_epi16(weights[p][0], x2),
                                   _mm512_add_epi16(weights[p][1], x0));
        }
      }
    }
  }
  static __m512 finish_group(__m512 total, __m512i sum, __m512 scale, float x_scale) {
    return _mm512_fmadd_ps(_mm512_mul_ps(scale, _mm512_cvtepi32_ps(sum)), _mm512_set1_ps(x_scale),
                           total);
  }

  template <int64_t Tokens>
  static void direct(const std::byte* panel, const LinearArgs& args, const I16G128* x,
                     int64_t stride, float* out) {
    __m512 totals[Tokens];
    for (int64_t t = 0; t < Tokens; ++t)
      totals[t] = _mm512_setzero_ps();
    // Nothing is unpacked: one or two tokens leave Zen 5's own prefetchers time enough too.
    const bool is_plain = Tokens <= 2 && args.weights_ahead == WeightsAhead::kFar;
    const WeightsAhead ahead = is_plain ? WeightsAhead::kByItself : args.weights_ahead;
    for (int64_t block = 0; block < args.cols / kPackedColumns; ++block, ++x) {
      for (int64_t group = 0; group < kGroups; ++group) {
        __m512i sums[1][Tokens];
        if (ahead != WeightsAhead::kByItself)
          prefetch_run<Tokens, kLine>(panel + group * 4 * kRunBytes, 4 * kRunBytes, ahead);
        multiply<1, Tokens>({panel + kScaleBytes}, x, stride, group, sums);
        const __m512 scale = scale_of(panel, group);
#pragma GCC unroll 8
        for (int64_t t = 0; t < Tokens; ++t)
          totals[t] = finish_group(totals[t], sums[0][t], scale, x[t * stride].scales[group]);
      }
      panel += kScaleBytes + 8 * kRunBytes;
    }
    for (int64_t t = 0; t < Tokens; ++t)
      _mm512_store_ps(out + t * 16, totals[t]);
  }

  static void fill(const std::byte* panel, const LinearArgs&, int64_t block, Tile& tile) {
    const std::byte* at = panel + block * (kScaleBytes + 8 * kRunBytes);
    tile.codes = at + kScaleBytes;
    __m512i crossed[kGroups] = {};
    for (int64_t i = 0; i < kPairs; i += 2) {
#pragma GCC unroll 4
      for (int64_t group = 0; group < kGroups; ++group) {
        const std::byte* line = tile.codes + (group * kPairs + i) * kLine;
        crossed[group] = _mm512_dpwssd_epi32(crossed[group], _mm512_loadu_si512(line),
                                             _mm512_loadu_si512(line + kLine));
      }
    }
    for (int64_t group = 0; group < kGroups; ++group) {
      tile.scales[group] = scale_of(at, group);
      tile.crossed[group] = _mm512_sub_epi32(_mm512_setzero_si512(), crossed[group]);
    }
  }

  template <int64_t Panels, int64_t Tokens>
  static void add(const Tile* tiles, const LinearArgs&, int64_t, const I16G128* x, int64_t stride,
                  float* sums) {
#pragma GCC unroll 2
    for (int64_t group = 0; group < kGroups; ++group) {
      __m512i products[Panels][Tokens];
      multiply_crossed<Panels, Tokens>(tiles, x, stride, group, products);
#pragma GCC unroll 2
      for (int64_t p = 0; p < Panels; ++p) {
        const __m512 scale = tiles[p].scales[group];
#pragma GCC unroll 6
        for (int64_t t = 0; t < Tokens; ++t) {
          float* sum = sums + t * kTokenSums + p * 16;
          _mm512_store_ps(sum, finish_group(_mm512_load_ps(sum), products[p][t], scale,
                                            x[t * stride].scales[group]));
        }
      }
    }
  }
};

}  // namespace

void linear_f16words_avx512(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<WordsCore>(args, begin, end);
}

}  // namespace ingot::cpu
