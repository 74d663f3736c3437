// SPDX-License-Identifier: Apache-2.0
// Float weights by float inputs. Lane = row; each output has two chains of fused multiply-adds,
// even and odd columns, which are added to its total every 128 columns: short chains round less,
// and two of them hide the latency for one token. Few tokens: weights are widened as they stream
// by. Many: 128 columns of a panel are widened into L1 first, and the even columns pass before the
// odd ones, as the registers hold one chain each of 16 rows by six tokens. Rows of layouts without
// a packing are decoded to such tiles. Show it with `ingot bench kernels linear_f`.
#include <type_traits>

#include "kernels/cpu/avx2/linear.h"
#include "kernels/cpu/avx2/panel_walk.h"
#include "kernels/decode_rows.h"

namespace ingot::cpu {
namespace {

constexpr int64_t kSpan = 128;                   // columns between two additions to the totals
constexpr int64_t kDecodeColumns = 256;          // whole blocks of every layout
constexpr int64_t kFewTokens = 3;                // whose chains all fit the registers
constexpr int64_t kSpanTokens = tile_tokens(6);  // whose chains of even or odd columns do

struct F8Elements {  // 128 columns after their scales
  static constexpr int64_t kBytes = 1;
  static __m256 load(const std::byte* from) {
    // The bits of a byte are those of a half whose exponent has a bit more at the top, where the
    // sign comes by extension: 256 times too small, and exact.
    const __m128i words = _mm_slli_epi16(
        _mm_cvtepi8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))), 7);
    return _mm256_cvtph_ps(_mm_and_si128(words, _mm_set1_epi16(static_cast<short>(0xBFFF))));
  }
};
template <class Elements>
inline constexpr bool kHasScales = std::is_same_v<Elements, F8Elements>;

// Where the columns from `col` on, the first of a span, begin in a panel; their scales are before.
template <class Elements>
const std::byte* span_of(const std::byte* panel, int64_t col) {
  panel += col * 16 * Elements::kBytes;
  return kHasScales<Elements> ? panel + (col / kSpan + 1) * 64 : panel;
}

template <class Elements>
const float* scales_of([[maybe_unused]] const std::byte* span) {
  if constexpr (kHasScales<Elements>) return reinterpret_cast<const float*>(span - 64);
  return nullptr;
}

template <class Elements>
inline __m256 load_8_rows_of(const std::byte* weights, int64_t col, int64_t half) {
  return Elements::load(weights + (col * 16 + half * 8) * Elements::kBytes);
}

// chains[half][t] += the columns first, first + Step, ... With Ahead, what lies that many bytes
// after two columns is asked for at each.
template <class Elements, int64_t Step, int64_t Ahead, int64_t Tokens>
[[gnu::always_inline]] inline void add_columns(const std::byte* weights, const float* x,
                                               int64_t x_stride, int64_t first, int64_t cols,
                                               __m256 (&chains)[2][Tokens]) {
  for (int64_t col = first; col < cols; col += Step) {
    if constexpr (Ahead != 0)
      prefetch<32 * Elements::kBytes>(weights + col * 16 * Elements::kBytes + Ahead);
    const __m256 low = load_8_rows_of<Elements>(weights, col, 0);
    const __m256 high = load_8_rows_of<Elements>(weights, col, 1);
#pragma GCC unroll 8
    for (int64_t t = 0; t < Tokens; ++t) {
      const __m256 in = _mm256_set1_ps(x[t * x_stride + col]);
      chains[0][t] = _mm256_fmadd_ps(low, in, chains[0][t]);
      chains[1][t] = _mm256_fmadd_ps(high, in, chains[1][t]);
    }
  }
}

template <int64_t Tokens>
inline void clear(__m256 (&chains)[2][Tokens]) {
#pragma GCC unroll 8
  for (int64_t t = 0; t < Tokens; ++t)
    chains[0][t] = chains[1][t] = _mm256_setzero_ps();
}

// Scaled where there are scales.
template <int64_t Tokens>
inline void add_chains(const __m256 (&even)[2][Tokens], const __m256 (&odd)[2][Tokens],
                       const float* scales, float* sums) {
#pragma GCC unroll 8
  for (int64_t t = 0; t < Tokens; ++t)
#pragma GCC unroll 2
    for (int64_t h = 0; h < 2; ++h) {
      float* sum = sums + t * 16 + h * 8;
      const __m256 both = _mm256_add_ps(even[h][t], odd[h][t]);
      const __m256 total = _mm256_load_ps(sum);
      _mm256_store_ps(sum, scales != nullptr
                               ? _mm256_fmadd_ps(both, _mm256_loadu_ps(scales + h * 8), total)
                               : _mm256_add_ps(total, both));
    }
}

// sums[t] += the span's even columns + its odd columns.
template <class Elements, int64_t Ahead, int64_t Tokens>
inline void add_span(const std::byte* weights, const float* scales, const float* x,
                     int64_t x_stride, int64_t cols, float* sums) {
  __m256 even[2][Tokens];
  __m256 odd[2][Tokens];
  clear(even);
  if constexpr (Tokens > kFewTokens) {
    add_columns<Elements, 2, Ahead>(weights, x, x_stride, 0, cols, even);
    clear(odd);
    add_columns<Elements, 2, 0>(weights, x, x_stride, 1, cols, odd);
  } else {
    clear(odd);
    const int64_t whole = cols / 2 * 2;
    for (int64_t col = 0; col < whole; col += 2) {
      add_columns<Elements, 1, Ahead>(weights, x, x_stride, col, col + 1, even);
      add_columns<Elements, 1, 0>(weights, x, x_stride, col + 1, col + 2, odd);
    }
    add_columns<Elements, 1, 0>(weights, x, x_stride, whole, cols, even);
  }
  add_chains(even, odd, scales, sums);
}

int64_t span_at(int64_t cols, int64_t col) {
  return cols - col < kSpan ? cols - col : kSpan;
}

template <class Elements>
void linear_few(const LinearArgs& args, int64_t begin, int64_t end) {
  const auto* x = reinterpret_cast<const float*>(args.x);
  with_count<kSpanTokens>(args.tokens, [&]<int64_t Tokens>() {
    for (int64_t row = begin; row < end; row += 16) {
      alignas(64) float sums[Tokens * 16] = {};
      const std::byte* panel = args.weights + row / 16 * args.weight_stride;
      for (int64_t col = 0; col < args.cols; col += kSpan) {
        const std::byte* span = span_of<Elements>(panel, col);
        add_span<Elements, kPrefetchBytes, Tokens>(span, scales_of<Elements>(span), x + col,
                                                   args.cols, span_at(args.cols, col), sums);
      }
      for (int64_t t = 0; t < Tokens; ++t)
        finish_row(args, t, row, end, sums + t * 16);
    }
  });
}

// Some columns of a panel by a block of tokens.
template <class Elements>
void add_tile(const std::byte* weights, const float* scales, const float* x, int64_t x_stride,
              int64_t cols, int64_t tokens, float* sums) {
  int64_t t = 0;
  if (tokens >= kSpanTokens) {
    // The next span, if the weights are read where they lie.
    constexpr int64_t kAhead = 16 * kSpan * Elements::kBytes;
    add_span<Elements, kAhead, kSpanTokens>(weights, scales, x, x_stride, cols, sums);
    t = kSpanTokens;
  }
  for (; t + kSpanTokens <= tokens; t += kSpanTokens)
    add_span<Elements, 0, kSpanTokens>(weights, scales, x + t * x_stride, x_stride, cols,
                                       sums + t * 16);
  if (t == tokens) return;
  with_count<kSpanTokens - 1>(tokens - t, [&]<int64_t Tokens>() {
    add_span<Elements, 0, Tokens>(weights, scales, x + t * x_stride, x_stride, cols, sums + t * 16);
  });
}

struct SpanTile {
  const std::byte* columns;
  const float* scales;  // or null
};

// Asks tile(row, col, cols) for 16 rows of floats, [cols][16], 128 columns at a time.
template <class Tile>
void linear_by_spans(const LinearArgs& args, int64_t begin, int64_t end, Tile&& tile) {
  const auto* x = reinterpret_cast<const float*>(args.x);
  alignas(64) float sums[kBlockTokens * 16];
  for (int64_t token = 0; token < args.tokens; token += kBlockTokens) {
    const int64_t left = args.tokens - token;
    const int64_t tokens = left < kBlockTokens ? left : kBlockTokens;
    for (int64_t row = begin; row < end; row += 16) {
      __builtin_memset(sums, 0, static_cast<size_t>(tokens * 16) * sizeof(float));
      for (int64_t col = 0; col < args.cols; col += kSpan) {
        const int64_t cols = span_at(args.cols, col);
        const SpanTile span = tile(row, col, cols);
        add_tile<F32Elements>(span.columns, span.scales, x + token * args.cols + col, args.cols,
                              cols, tokens, sums);
      }
      for (int64_t t = 0; t < tokens; ++t)
        finish_row(args, token + t, row, end, sums + t * 16);
    }
  }
}

template <class Elements>
void linear_floats(const LinearArgs& args, int64_t begin, int64_t end) {
  if (args.tokens <= kSpanTokens) return linear_few<Elements>(args, begin, end);
  alignas(64) float columns[kSpan][16];
  linear_by_spans(args, begin, end, [&](int64_t row, int64_t col, int64_t cols) -> SpanTile {
    const std::byte* from = span_of<Elements>(args.weights + row / 16 * args.weight_stride, col);
    if constexpr (Elements::kBytes == sizeof(float)) {
      return {from, nullptr};
    } else {
      for (int64_t c = 0; c < cols; ++c) {
        prefetch<16 * Elements::kBytes>(from + (kSpan + c) * 16 * Elements::kBytes);
        for (int64_t half = 0; half < 2; ++half)
          _mm256_store_ps(columns[c] + half * 8, load_8_rows_of<Elements>(from, c, half));
      }
      return {reinterpret_cast<const std::byte*>(columns), scales_of<Elements>(from)};
    }
  });
}

// Eight columns of eight rows: lane r of column c from row r.
void transpose_8(const float (*rows)[kDecodeColumns], float (*columns)[16]) {
  __m256 pairs[8];  // of rows r and r + 4
  for (int64_t r = 0; r < 4; ++r) {
    const __m256 low = _mm256_load_ps(rows[r]);
    const __m256 high = _mm256_load_ps(rows[r + 4]);
    pairs[r] = _mm256_permute2f128_ps(low, high, 0x20);      // columns 0-3
    pairs[r + 4] = _mm256_permute2f128_ps(low, high, 0x31);  // columns 4-7
  }
  for (int64_t i = 0; i < 8; i += 4) {
    const __m256 a = _mm256_unpacklo_ps(pairs[i], pairs[i + 1]);
    const __m256 b = _mm256_unpackhi_ps(pairs[i], pairs[i + 1]);
    const __m256 c = _mm256_unpacklo_ps(pairs[i + 2], pairs[i + 3]);
    const __m256 d = _mm256_unpackhi_ps(pairs[i + 2], pairs[i + 3]);
    _mm256_store_ps(columns[i], _mm256_shuffle_ps(a, c, 0x44));
    _mm256_store_ps(columns[i + 1], _mm256_shuffle_ps(a, c, 0xEE));
    _mm256_store_ps(columns[i + 2], _mm256_shuffle_ps(b, d, 0x44));
    _mm256_store_ps(columns[i + 3], _mm256_shuffle_ps(b, d, 0xEE));
  }
}

}  // namespace

void linear_f32_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_floats<F32Elements>(args, begin, end);
}
void linear_f16_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_floats<F16Elements>(args, begin, end);
}
void linear_bf16_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_floats<BF16Elements>(args, begin, end);
}

void linear_f8_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_floats<F8Elements>(args, begin, end);
}

void linear_rows_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  alignas(64) float rows[16][kDecodeColumns] = {};
  alignas(64) float columns[kSpan][16];
  linear_by_spans(args, begin, end, [&](int64_t row, int64_t col, int64_t cols) -> SpanTile {
    if (col % kDecodeColumns == 0) {
      const int64_t left = args.cols - col;
      const int64_t count = left < kDecodeColumns ? left : kDecodeColumns;
      const std::byte* from =
          args.weights + row * args.weight_stride + decode_bytes(args.layout, col);
      for (int64_t r = 0; r < 16 && row + r < end; ++r)
        decode_values(args.layout, from + r * args.weight_stride, count, rows[r]);
    }
    // Whole eights: what is past the last column is not read.
    for (int64_t c = 0; c < cols; c += 8)
      for (int64_t half = 0; half < 16; half += 8)
        transpose_8(
            reinterpret_cast<const float(*)[kDecodeColumns]>(rows[half] + col % kDecodeColumns + c),
            reinterpret_cast<float(*)[16]>(columns[c] + half));
    return {reinterpret_cast<const std::byte*>(columns), nullptr};
  });
}

}  // namespace ingot::cpu
