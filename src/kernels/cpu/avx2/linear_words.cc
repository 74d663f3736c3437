// SPDX-License-Identifier: Apache-2.0
// F16 as whole numbers by inputs of 13 bits: a multiply of words and an addition make 16 products
// where a fused multiply-add of floats makes 8, about 1.6 times as many in a tick. Nothing is
// unpacked: a tile is where the panel's codes lie. Winograd's product, which AVX-512 takes (see
// there), would need as many instructions here: multiply and addition are two anyway. Show it with
// `ingot bench kernels f16words`.
#include "kernels/cpu/avx2/linear.h"
#include "kernels/cpu/avx2/panel_walk.h"

namespace ingot::cpu {
namespace {

struct WordsCore {
  using Input = I16G128;
  static constexpr int64_t kGroups = 2;  // of a block
  static constexpr int64_t kPairs = 64;  // of a group
  static constexpr int64_t kGroupBytes = kPairs * kLine;
  static constexpr int64_t kPanelBlockBytes = kLine + kGroups * kGroupBytes;  // scales first

  struct Tile {
    const std::byte* codes;
    __m256 scales[kGroups][2];
  };

  static __m256 scale_of(const std::byte* block, int64_t group, int64_t half) {
    const auto* bytes = reinterpret_cast<const __m128i*>(block + group * 16 + half * 8);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu8_epi32(_mm_loadl_epi64(bytes)), 23));
  }

  // The sums of a group's products, of the halves [First, Last) of the rows.
  template <int64_t First, int64_t Last, int64_t Tokens>
  [[gnu::always_inline]] static void multiply(const std::byte* codes, const I16G128* x,
                                              int64_t stride, int64_t group,
                                              __m256i (&sums)[2][Tokens]) {
    const int16_t* in[Tokens];
#pragma GCC unroll 8
    for (int64_t t = 0; t < Tokens; ++t) {
      in[t] = x[t * stride].codes;
#pragma GCC unroll 2
      for (int64_t h = First; h < Last; ++h)
        sums[h][t] = _mm256_setzero_si256();
    }
    for (int64_t pair = group * kPairs; pair < (group + 1) * kPairs; pair += 2) {
#pragma GCC unroll 2
      for (int64_t i = pair; i < pair + 2; ++i) {
        __m256i weights[2];
#pragma GCC unroll 2
        for (int64_t h = First; h < Last; ++h)
          weights[h] = load_8_rows(codes + i * kLine + h * kHalfLine);
#pragma GCC unroll 8
        for (int64_t t = 0; t < Tokens; ++t) {
          const __m256i two = broadcast_4_bytes(in[t] + 2 * i);
#pragma GCC unroll 2
          for (int64_t h = First; h < Last; ++h) {
            sums[h][t] = _mm256_add_epi32(sums[h][t], _mm256_madd_epi16(weights[h], two));
            pin(sums[h][t]);
          }
        }
      }
    }
  }
  static __m256 finish_group(__m256 total, __m256i sum, __m256 scale, float x_scale) {
    return _mm256_fmadd_ps(_mm256_mul_ps(scale, _mm256_cvtepi32_ps(sum)), _mm256_set1_ps(x_scale),
                           total);
  }

  // One block of the halves [First, Last) of the rows.
  template <int64_t First, int64_t Last, int64_t Tokens>
  [[gnu::always_inline]] static void add_halves(const std::byte* block, WeightsAhead weights_ahead,
                                                const I16G128* x, int64_t stride,
                                                __m256 (&totals)[2][Tokens]) {
    for (int64_t group = 0; group < kGroups; ++group) {
      if constexpr (First == 0) {
        const std::byte* ahead = block + kPrefetchBytes + group * kGroupBytes;
        for (int64_t i = 0; i < kGroupBytes; i += 8 * kLine)
          prefetch_stream<8 * kLine, Last == 2>(ahead + i, weights_ahead);
      }
      __m256i sums[2][Tokens];
      multiply<First, Last>(block + kLine, x, stride, group, sums);
#pragma GCC unroll 2
      for (int64_t h = First; h < Last; ++h) {
        const __m256 scale = scale_of(block, group, h);
#pragma GCC unroll 8
        for (int64_t t = 0; t < Tokens; ++t)
          totals[h][t] = finish_group(totals[h][t], sums[h][t], scale, x[t * stride].scales[group]);
      }
    }
  }

  template <int64_t Tokens>
  [[gnu::noinline]] static void direct(const std::byte* panel, const LinearArgs& args,
                                       const I16G128* x, int64_t stride, float* out) {
    __m256 totals[2][Tokens];
#pragma GCC unroll 8
    for (int64_t t = 0; t < Tokens; ++t)
      totals[0][t] = totals[1][t] = _mm256_setzero_ps();
    // Nothing is unpacked: one or two tokens leave Zen 5's own prefetchers time enough too.
    const bool is_plain = Tokens <= 2 && args.weights_ahead == WeightsAhead::kFar;
    const WeightsAhead ahead = is_plain ? WeightsAhead::kByItself : args.weights_ahead;
    for (int64_t block = 0; block < stride; ++block, panel += kPanelBlockBytes) {
      if constexpr (Tokens <= 2 * kWideTokens) {  // sums are all there is
        add_halves<0, 2>(panel, ahead, x + block, stride, totals);
      } else {
        add_halves<0, 1>(panel, ahead, x + block, stride, totals);
        add_halves<1, 2>(panel, ahead, x + block, stride, totals);
      }
    }
    for (int64_t t = 0; t < Tokens; ++t) {
      _mm256_store_ps(out + t * 16, totals[0][t]);
      _mm256_store_ps(out + t * 16 + 8, totals[1][t]);
    }
  }

  static void fill(const std::byte* panel, const LinearArgs&, int64_t block, Tile& tile) {
    const std::byte* at = panel + block * kPanelBlockBytes;
    tile.codes = at + kLine;
    for (int64_t group = 0; group < kGroups; ++group)
      for (int64_t half = 0; half < 2; ++half)
        tile.scales[group][half] = scale_of(at, group, half);
    for (int64_t i = 0; i < kPanelBlockBytes; i += 8 * kLine)
      prefetch<8 * kLine>(at + kPanelBlockBytes + i);
  }

  // Out of line, for the registers' sake.
  template <int64_t Tokens>
  [[gnu::noinline]] static void add(const Tile& tile, const LinearArgs&, int64_t, const I16G128* x,
                                    int64_t stride, float* sums) {
    for (int64_t group = 0; group < kGroups; ++group) {
      __m256i products[2][Tokens];
      multiply<0, 2>(tile.codes, x, stride, group, products);
#pragma GCC unroll 4
      for (int64_t t = 0; t < Tokens; ++t)
#pragma GCC unroll 2
        for (int64_t h = 0; h < 2; ++h) {
          float* sum = sums + t * kTokenSums + h * 8;
          _mm256_store_ps(sum, finish_group(_mm256_load_ps(sum), products[h][t],
                                            tile.scales[group][h], x[t * stride].scales[group]));
        }
    }
  }
};

}  // namespace

void linear_f16words_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_by_panels<WordsCore>(args, begin, end);
}

}  // namespace ingot::cpu
