// SPDX-License-Identifier: Apache-2.0
// Float weights by float inputs. Lane = row; each output has two chains of fused multiply-adds,
// even and odd columns, which are added to its total every 128 columns: short chains round less,
// and two of them hide the latency for one token. Few tokens: weights are widened as they stream
// by. Many: 128 columns of two panels are widened into L1 first. Rows of layouts without a packing
// are decoded to such tiles. Show it with `ingot bench kernels linear_f`.
#include <type_traits>

#include "kernels/cpu/avx512/linear.h"
#include "kernels/cpu/avx512/panel_walk.h"
#include "kernels/decode_rows.h"

namespace ingot::cpu {
namespace {

constexpr int64_t kFloatTokens = 258;    // that pass over one tile
constexpr int64_t kSpan = 128;           // columns between two additions to the totals
constexpr int64_t kDecodeColumns = 256;  // whole blocks of every layout

struct F32Panel {
  static constexpr int64_t kBytes = 64;  // a column
  static __m512 load(const std::byte* from) { return _mm512_loadu_ps(from); }
};
struct F16Panel {
  static constexpr int64_t kBytes = 32;
  static __m512 load(const std::byte* from) { return widen_halves(from); }
};
struct BF16Panel {
  static constexpr int64_t kBytes = 32;
  static __m512 load(const std::byte* from) {
    const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(words), 16));
  }
};

struct F8Panel {  // 128 columns after their scales
  static constexpr int64_t kBytes = 16;
  static __m512 load(const std::byte* from) {
    // The bits of a byte are those of a half whose exponent has a bit more at the top, where the
    // sign comes by extension: 256 times too small, and exact.
    const __m256i words = _mm256_slli_epi16(
        _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))), 7);
    return _mm512_cvtph_ps(_mm256_and_si256(words, _mm256_set1_epi16(static_cast<short>(0xBFFF))));
  }
};

// Where the columns from `col` on, the first of a span, begin in a panel, and their scales.
template <class Panel>
const std::byte* span_of(const std::byte* panel, int64_t col) {
  if constexpr (std::is_same_v<Panel, F8Panel>)
    return panel + col * Panel::kBytes + (col / kSpan + 1) * 64;
  return panel + col * Panel::kBytes;
}
template <class Panel>
inline constexpr bool kHasScales = std::is_same_v<Panel, F8Panel>;
template <class Panel>
__m512 scales_of([[maybe_unused]] const std::byte* span) {
  if constexpr (std::is_same_v<Panel, F8Panel>) return _mm512_loadu_ps(span - 64);
  return _mm512_set1_ps(1);
}

// sums[p][t] += the span's even columns + its odd columns, scaled where there are scales.
template <class Panel, int64_t Panels, int64_t Tokens, bool HasScales>
inline void add_span(const std::byte* const (&weights)[Panels], const __m512 (&scales)[Panels],
                     const float* x, int64_t x_stride, int64_t cols, float* sums,
                     int64_t token_sums) {
  __m512 even[Panels][Tokens];
  __m512 odd[Panels][Tokens];
#pragma GCC unroll 2
  for (int64_t p = 0; p < Panels; ++p)
#pragma GCC unroll 8
    for (int64_t t = 0; t < Tokens; ++t)
      even[p][t] = odd[p][t] = _mm512_setzero_ps();
  int64_t col = 0;
  for (; col + 2 <= cols; col += 2) {
#pragma GCC unroll 2
    for (int64_t i = 0; i < 2; ++i) {
      __m512 w[Panels];
#pragma GCC unroll 2
      for (int64_t p = 0; p < Panels; ++p)
        w[p] = Panel::load(weights[p] + (col + i) * Panel::kBytes);
#pragma GCC unroll 8
      for (int64_t t = 0; t < Tokens; ++t) {
        const __m512 in = _mm512_set1_ps(x[t * x_stride + col + i]);
#pragma GCC unroll 2
        for (int64_t p = 0; p < Panels; ++p) {
          __m512& sum = i == 0 ? even[p][t] : odd[p][t];
          sum = _mm512_fmadd_ps(w[p], in, sum);
        }
      }
    }
  }
  if (col < cols) {
#pragma GCC unroll 2
    for (int64_t p = 0; p < Panels; ++p) {
      const __m512 w = Panel::load(weights[p] + col * Panel::kBytes);
#pragma GCC unroll 8
      for (int64_t t = 0; t < Tokens; ++t)
        even[p][t] = _mm512_fmadd_ps(w, _mm512_set1_ps(x[t * x_stride + col]), even[p][t]);
    }
  }
#pragma GCC unroll 2
  for (int64_t p = 0; p < Panels; ++p)
#pragma GCC unroll 8
    for (int64_t t = 0; t < Tokens; ++t) {
      float* sum = sums + t * token_sums + p * 16;
      const __m512 both = _mm512_add_ps(even[p][t], odd[p][t]);
      const __m512 total = _mm512_load_ps(sum);
      _mm512_store_ps(
          sum, HasScales ? _mm512_fmadd_ps(both, scales[p], total) : _mm512_add_ps(total, both));
    }
}

int64_t span_at(int64_t cols, int64_t col) {
  return cols - col < kSpan ? cols - col : kSpan;
}

template <class Panel>
void linear_few(const LinearArgs& args, int64_t begin, int64_t end) {
  const auto* x = reinterpret_cast<const float*>(args.x);
  with_count<kDirectTokens>(args.tokens, [&]<int64_t Tokens>() {
    for (int64_t row = begin; row < end; row += 16) {
      alignas(64) float sums[Tokens * 16] = {};
      const std::byte* panel = args.weights + row / 16 * args.weight_stride;
      for (int64_t col = 0; col < args.cols; col += kSpan) {
        const std::byte* span = span_of<Panel>(panel, col);
        add_span<Panel, 1, Tokens, kHasScales<Panel>>({span}, {scales_of<Panel>(span)}, x + col,
                                                      args.cols, span_at(args.cols, col), sums, 16);
      }
      for (int64_t t = 0; t < Tokens; ++t)
        finish_row(args, t, row, end, sums + t * 16);
    }
  });
}

struct alignas(64) Tiles {
  float columns[kTilePanels][kSpan][16];
  float scales[kTilePanels][16];
};

// Some columns of two panels by a block of tokens.
template <int64_t Panels, bool HasScales>
void add_tiles(const Tiles& tiles, const float* x, int64_t x_stride, int64_t cols, int64_t tokens,
               float* sums) {
  const std::byte* weights[Panels];
  __m512 scales[Panels];
  for (int64_t p = 0; p < Panels; ++p) {
    weights[p] = reinterpret_cast<const std::byte*>(tiles.columns[p]);
    scales[p] = HasScales ? _mm512_load_ps(tiles.scales[p]) : _mm512_setzero_ps();
  }
  int64_t t = 0;
  for (; t + kTileTokens <= tokens; t += kTileTokens)
    add_span<F32Panel, Panels, kTileTokens, HasScales>(weights, scales, x + t * x_stride, x_stride,
                                                       cols, sums + t * kTokenSums, kTokenSums);
  if (t == tokens) return;
  with_count<kTileTokens - 1>(tokens - t, [&]<int64_t Tokens>() {
    add_span<F32Panel, Panels, Tokens, HasScales>(weights, scales, x + t * x_stride, x_stride, cols,
                                                  sums + t * kTokenSums, kTokenSums);
  });
}

// Calls fill(row, col, cols, tile, scales) for up to two panels at `row`, 128 columns at a time.
template <bool HasScales, class Fill>
void linear_by_spans(const LinearArgs& args, int64_t begin, int64_t end, Fill&& fill) {
  const auto* x = reinterpret_cast<const float*>(args.x);
  alignas(64) float sums[kFloatTokens * kTokenSums];
  Tiles tiles;
  for (int64_t token = 0; token < args.tokens; token += kFloatTokens) {
    const int64_t left = args.tokens - token;
    const int64_t tokens = left < kFloatTokens ? left : kFloatTokens;
    for (int64_t row = begin; row < end; row += kTilePanels * 16) {
      const bool is_pair = end - row > 16;
      __builtin_memset(sums, 0, static_cast<size_t>(tokens * kTokenSums) * sizeof(float));
      for (int64_t col = 0; col < args.cols; col += kSpan) {
        const int64_t cols = span_at(args.cols, col);
        const float* in = x + token * args.cols + col;
        fill(row, col, cols, tiles.columns[0], tiles.scales[0]);
        if (is_pair) {
          fill(row + 16, col, cols, tiles.columns[1], tiles.scales[1]);
          add_tiles<2, HasScales>(tiles, in, args.cols, cols, tokens, sums);
        } else {
          add_tiles<1, HasScales>(tiles, in, args.cols, cols, tokens, sums);
        }
      }
      for (int64_t t = 0; t < tokens; ++t) {
        finish_row(args, token + t, row, end, sums + t * kTokenSums);
        if (is_pair) finish_row(args, token + t, row + 16, end, sums + t * kTokenSums + 16);
      }
    }
  }
}

template <class Panel>
void linear_floats(const LinearArgs& args, int64_t begin, int64_t end) {
  if (args.tokens <= kDirectTokens) return linear_few<Panel>(args, begin, end);
  linear_by_spans<kHasScales<Panel>>(
      args, begin, end,
      [&](int64_t row, int64_t col, int64_t cols, float(*tile)[16], float* scales) {
        const std::byte* from = span_of<Panel>(args.weights + row / 16 * args.weight_stride, col);
        for (int64_t c = 0; c < cols; ++c)
          _mm512_store_ps(tile[c], Panel::load(from + c * Panel::kBytes));
        if constexpr (kHasScales<Panel>) _mm512_store_ps(scales, scales_of<Panel>(from));
      });
}

// Sixteen rows of a tile from rows of floats: lane r of column c from row r.
void transpose(const float (*rows)[kDecodeColumns], int64_t first, int64_t cols,
               float (*tile)[16]) {
  const __m512i at =
      _mm512_mullo_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                         _mm512_set1_epi32(static_cast<int>(kDecodeColumns)));
  for (int64_t c = 0; c < cols; ++c)
    _mm512_store_ps(tile[c], _mm512_i32gather_ps(at, rows[0] + first + c, 4));
}

}  // namespace

void linear_f32_avx512(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_floats<F32Panel>(args, begin, end);
}
void linear_f16_avx512(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_floats<F16Panel>(args, begin, end);
}
void linear_bf16_avx512(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_floats<BF16Panel>(args, begin, end);
}

void linear_f8_avx512(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_floats<F8Panel>(args, begin, end);
}

void linear_rows_avx512(const LinearArgs& args, int64_t begin, int64_t end) {
  alignas(64) float rows[2][16][kDecodeColumns] = {};
  linear_by_spans<false>(
      args, begin, end, [&](int64_t row, int64_t col, int64_t cols, float(*tile)[16], float*) {
        auto& decoded = rows[(row - begin) / 16 % 2];
        if (col % kDecodeColumns == 0) {
          const int64_t left = args.cols - col;
          const int64_t count = left < kDecodeColumns ? left : kDecodeColumns;
          const std::byte* from =
              args.weights + row * args.weight_stride + decode_bytes(args.layout, col);
          for (int64_t r = 0; r < 16 && row + r < end; ++r)
            decode_values(args.layout, from + r * args.weight_stride, count, decoded[r]);
        }
        transpose(decoded, col % kDecodeColumns, cols, tile);
      });
}

}  // namespace ingot::cpu
