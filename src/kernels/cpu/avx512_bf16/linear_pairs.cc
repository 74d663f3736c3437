// SPDX-License-Identifier: Apache-2.0
// Weights of bf16 or e4m3 by inputs of bf16, two columns in one dot product (vdpbf16ps: twice the
// multiplies of float FMA). Lane = row; each output has two chains of products, of even and of odd
// pairs of columns, which are added to its total every 128 columns, times the scale of an e4m3 row.
// The instruction adds the second column of a pair, then the first, each product fused and rounded
// to the nearest float; denormals, of weights, inputs and sums, are zeros to it. Few tokens:
// weights stream by, e4m3 becomes bf16 in registers. Many: a block of tokens passes over 128
// columns of two panels. Show it with `ingot bench kernels pairs`.
#include <type_traits>

#include "kernels/cpu/avx512/panel_walk.h"
#include "kernels/cpu/avx512_bf16/e4m3.h"
#include "kernels/cpu/avx512_bf16/linear.h"

namespace ingot::cpu {
namespace {

constexpr int64_t kSpan = 128;        // columns between two additions to the totals
constexpr int64_t kPairTokens = 258;  // that pass over one tile

// Four columns of a panel at a time: `first` and `second` are [16 rows][2 columns].
struct BF16Weights {
  static constexpr int64_t kBytes = 128;     // of four columns
  static constexpr int64_t kFewTokens = 40;  // as long as two panels stay in L2
  static constexpr bool kHasScales = false;
  struct Decoder {
    void decode(const std::byte* from, __m512bh& first, __m512bh& second) const {
      first = reinterpret_cast<__m512bh>(_mm512_loadu_si512(from));
      second = reinterpret_cast<__m512bh>(_mm512_loadu_si512(from + 64));
    }
  };
  static const std::byte* span_of(const std::byte* panel, int64_t col) {
    return panel + col / 4 * kBytes;
  }
};
struct F8Weights {
  static constexpr int64_t kBytes = 64;
  static constexpr int64_t kFewTokens = 8;  // above it decoding once into a tile pays
  static constexpr bool kHasScales = true;
  using Decoder = E4m3Decoder;
  static const std::byte* span_of(const std::byte* panel, int64_t col) {
    return panel + col / 4 * kBytes + (col / kSpan + 1) * 64;
  }
};

__m512bh pair_of_inputs(const std::byte* from) {
  int32_t pair;
  __builtin_memcpy(&pair, from, sizeof(pair));
  return reinterpret_cast<__m512bh>(_mm512_set1_epi32(pair));
}

// The scales of a span's inputs, where they are codes.
struct InputScales {
  const float* scales;  // of the first token; null: ones
  int64_t stride;

  __m512 of(int64_t token) const {
    return scales == nullptr ? _mm512_set1_ps(1) : _mm512_set1_ps(scales[token * stride]);
  }
};

// sums[p][t] += the span's even pairs + its odd pairs, scaled where there are scales.
template <class Weights, int64_t Panels, int64_t Tokens, bool HasScales>
inline void add_span(const std::byte* const (&weights)[Panels], const __m512 (&scales)[Panels],
                     const std::byte* x, int64_t x_bytes, const InputScales& x_scales,
                     int64_t quads, float* sums, int64_t token_sums) {
  const typename Weights::Decoder decoder;
  __m512 even[Panels][Tokens];
  __m512 odd[Panels][Tokens];
#pragma GCC unroll 2
  for (int64_t p = 0; p < Panels; ++p)
#pragma GCC unroll 8
    for (int64_t t = 0; t < Tokens; ++t)
      even[p][t] = odd[p][t] = _mm512_setzero_ps();
  for (int64_t quad = 0; quad < quads; ++quad) {
    __m512bh w[2][Panels];
#pragma GCC unroll 2
    for (int64_t p = 0; p < Panels; ++p)
      decoder.decode(weights[p] + quad * Weights::kBytes, w[0][p], w[1][p]);
#pragma GCC unroll 2
    for (int64_t i = 0; i < 2; ++i) {
#pragma GCC unroll 8
      for (int64_t t = 0; t < Tokens; ++t) {
        const __m512bh in = pair_of_inputs(x + t * x_bytes + quad * 8 + i * 4);
#pragma GCC unroll 2
        for (int64_t p = 0; p < Panels; ++p) {
          __m512& sum = i == 0 ? even[p][t] : odd[p][t];
          sum = _mm512_dpbf16_ps(sum, w[i][p], in);
        }
      }
    }
  }
#pragma GCC unroll 2
  for (int64_t p = 0; p < Panels; ++p)
#pragma GCC unroll 8
    for (int64_t t = 0; t < Tokens; ++t) {
      float* sum = sums + t * token_sums + p * 16;
      const __m512 both = _mm512_add_ps(even[p][t], odd[p][t]);
      const __m512 total = _mm512_load_ps(sum);
      if constexpr (HasScales) {
        const __m512 scale = _mm512_mul_ps(scales[p], x_scales.of(t));
        _mm512_store_ps(sum, _mm512_fmadd_ps(both, scale, total));
      } else {
        _mm512_store_ps(sum, _mm512_add_ps(total, both));
      }
    }
}

template <class Weights>
__m512 scales_of([[maybe_unused]] const std::byte* span) {
  if constexpr (Weights::kHasScales) return _mm512_loadu_ps(span - 64);
  return _mm512_setzero_ps();
}

// Columns are padded to 32 by zeros, in weights and inputs.
struct Extent {
  explicit Extent(const LinearArgs& args) : cols((args.cols + 31) / 32 * 32), x_bytes(cols * 2) {}
  int64_t quads(int64_t col) const { return (cols - col < kSpan ? cols - col : kSpan) / 4; }
  InputScales scales(const LinearArgs& args, int64_t token, int64_t col) const {
    const int64_t spans = (args.cols + kSpan - 1) / kSpan;
    const float* first = args.x_scales;
    return {first == nullptr ? nullptr : first + token * spans + col / kSpan, spans};
  }
  int64_t cols;
  int64_t x_bytes;
};

// Tokens from `first` on by one or two panels, all columns.
template <class Weights, int64_t Panels, int64_t Tokens>
void add_panels(const LinearArgs& args, const Extent& extent, int64_t row, int64_t end,
                int64_t first) {
  const std::byte* panel = args.weights + row / 16 * args.weight_stride;
  const std::byte* x = args.x + first * extent.x_bytes;
  alignas(64) float sums[Tokens * Panels * 16] = {};
  for (int64_t col = 0; col < extent.cols; col += kSpan) {
    const std::byte* weights[Panels];
    __m512 scales[Panels];
    for (int64_t p = 0; p < Panels; ++p) {
      weights[p] = Weights::span_of(panel + p * args.weight_stride, col);
      scales[p] = scales_of<Weights>(weights[p]);
    }
    add_span<Weights, Panels, Tokens, Weights::kHasScales>(
        weights, scales, x + col * 2, extent.x_bytes, extent.scales(args, first, col),
        extent.quads(col), sums, Panels * 16);
  }
  for (int64_t t = 0; t < Tokens; ++t)
    for (int64_t p = 0; p < Panels; ++p)
      finish_row(args, first + t, row + p * 16, end, sums + (t * Panels + p) * 16);
}

// One token takes panels one after the other, as one stream of bytes; several take two at a time,
// which share the inputs' broadcasts. After the first tokens panels are in the cache for the
// others.
template <class Weights>
void linear_few(const LinearArgs& args, int64_t begin, int64_t end) {
  const Extent extent(args);
  const int64_t shares = (args.tokens + kTileTokens - 1) / kTileTokens;
  const int64_t together = args.tokens > 1 ? 2 : 1;
  for (int64_t row = begin; row < end; row += together * 16) {
    const bool is_pair = together == 2 && end - row > 16;
    for (int64_t i = 0; i < shares; ++i) {
      const int64_t first = args.tokens * i / shares;
      with_count<kTileTokens>(args.tokens * (i + 1) / shares - first, [&]<int64_t Tokens>() {
        if (is_pair) {
          add_panels<Weights, 2, Tokens>(args, extent, row, end, first);
        } else {
          add_panels<Weights, 1, Tokens>(args, extent, row, end, first);
        }
      });
    }
  }
}

struct alignas(64) Tile {
  std::byte pairs[kSpan * 16 * 2];
};

// The bf16 pairs of a span: where they lie, or made in a tile.
template <class Weights>
const std::byte* pairs_of(const std::byte* span, int64_t quads, Tile& tile) {
  if constexpr (std::is_same_v<Weights, BF16Weights>) return span;
  const typename Weights::Decoder decoder;
  for (int64_t quad = 0; quad < quads; ++quad) {
    __m512bh first;
    __m512bh second;
    decoder.decode(span + quad * Weights::kBytes, first, second);
    _mm512_store_si512(tile.pairs + quad * 128, reinterpret_cast<__m512i>(first));
    _mm512_store_si512(tile.pairs + quad * 128 + 64, reinterpret_cast<__m512i>(second));
  }
  return tile.pairs;
}

// Bytes that are wanted soon, asked for in even shares.
struct Ahead {
  const std::byte* from;
  int64_t stride;  // from panel to panel
  int64_t lines;

  void fetch(int64_t share, int64_t shares, int64_t panels) const {
    for (int64_t i = lines * share / shares; i < lines * (share + 1) / shares; ++i)
      for (int64_t p = 0; p < panels; ++p)
        _mm_prefetch(from + p * stride + i * 64, _MM_HINT_T1);
  }
};

// A span of one or two panels by a block of tokens, in even shares.
template <bool HasScales, int64_t Panels>
void add_tiles(const std::byte* const (&weights)[Panels], const __m512 (&scales)[Panels],
               const std::byte* x, int64_t x_bytes, const InputScales& x_scales, int64_t quads,
               int64_t tokens, const Ahead& ahead, float* sums) {
  const int64_t shares = (tokens + kTileTokens - 1) / kTileTokens;
  for (int64_t i = 0; i < shares; ++i) {
    const int64_t t = tokens * i / shares;
    ahead.fetch(i, shares, Panels);
    with_count<kTileTokens>(tokens * (i + 1) / shares - t, [&]<int64_t Tokens>() {
      const InputScales own{
          x_scales.scales == nullptr ? nullptr : x_scales.scales + t * x_scales.stride,
          x_scales.stride};
      add_span<BF16Weights, Panels, Tokens, HasScales>(
          weights, scales, x + t * x_bytes, x_bytes, own, quads, sums + t * kTokenSums, kTokenSums);
    });
  }
}

template <class Weights>
void linear_many(const LinearArgs& args, int64_t begin, int64_t end) {
  const Extent extent(args);
  alignas(64) float sums[kPairTokens * kTokenSums];
  Tile tiles[kTilePanels];
  for (int64_t token = 0; token < args.tokens; token += kPairTokens) {
    const int64_t left = args.tokens - token;
    const int64_t tokens = left < kPairTokens ? left : kPairTokens;
    for (int64_t row = begin; row < end; row += kTilePanels * 16) {
      const bool is_pair = end - row > 16;
      const std::byte* panel = args.weights + row / 16 * args.weight_stride;
      __builtin_memset(sums, 0, static_cast<size_t>(tokens * kTokenSums) * sizeof(float));
      for (int64_t col = 0; col < extent.cols; col += kSpan) {
        const int64_t quads = extent.quads(col);
        const std::byte* x = args.x + token * extent.x_bytes + col * 2;
        const std::byte* span = Weights::span_of(panel, col);
        const InputScales x_scales = extent.scales(args, token, col);
        const Ahead ahead{Weights::span_of(panel, col + kSpan), args.weight_stride,
                          kSpan / 4 * Weights::kBytes / 64};
        const std::byte* first = pairs_of<Weights>(span, quads, tiles[0]);
        if (is_pair) {
          const std::byte* next = span + args.weight_stride;
          const std::byte* second = pairs_of<Weights>(next, quads, tiles[1]);
          add_tiles<Weights::kHasScales, 2>({first, second},
                                            {scales_of<Weights>(span), scales_of<Weights>(next)}, x,
                                            extent.x_bytes, x_scales, quads, tokens, ahead, sums);
        } else {
          add_tiles<Weights::kHasScales, 1>({first}, {scales_of<Weights>(span)}, x, extent.x_bytes,
                                            x_scales, quads, tokens, ahead, sums);
        }
      }
      for (int64_t t = 0; t < tokens; ++t) {
        finish_row(args, token + t, row, end, sums + t * kTokenSums);
        if (is_pair) finish_row(args, token + t, row + 16, end, sums + t * kTokenSums + 16);
      }
    }
  }
}

template <class Weights>
void linear_pairs(const LinearArgs& args, int64_t begin, int64_t end) {
  if (args.tokens <= Weights::kFewTokens) return linear_few<Weights>(args, begin, end);
  linear_many<Weights>(args, begin, end);
}

}  // namespace

void linear_bf16pairs_avx512_bf16(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_pairs<BF16Weights>(args, begin, end);
}
void linear_f8pairs_avx512_bf16(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_pairs<F8Weights>(args, begin, end);
}

}  // namespace ingot::cpu
