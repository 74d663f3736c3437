// SPDX-License-Identifier: Apache-2.0
// Float weights by float inputs. Lane = row; each output has two chains of fused multiply-adds,
// even and odd columns, which are added to its total every 128 columns: short chains round less,
// and there are enough of them to hide the latency for one token. Tokens pass two at a time over
// 128 columns of a panel, which stay in L1: 16 chains in registers. Where there are more than a few
// tokens, these columns are widened to float first. Rows of layouts without a packing are decoded
// to such tiles. Show it with `ingot bench kernels linear_f`.
#include "kernels/cpu/neon/linear.h"
#include "kernels/cpu/neon/panel_walk.h"
#include "kernels/decode_rows.h"

namespace ingot::cpu {
namespace {

constexpr int64_t kSpan = 128;           // columns between two additions to the totals
constexpr int64_t kDecodeColumns = 256;  // whole blocks of every layout
constexpr int64_t kTokensTogether = 2;

// One column of 16 rows; `load` gives 4 of them.
struct F32Panel {
  static constexpr int64_t kBytes = 64;
  static float32x4_t load(const std::byte* column, int64_t q) {
    return vld1q_f32(reinterpret_cast<const float*>(column) + q * 4);
  }
};
struct F16Panel {
  static constexpr int64_t kBytes = 32;
  static float32x4_t load(const std::byte* column, int64_t q) {
    return widen_halves(column + q * 8);
  }
};
struct BF16Panel {
  static constexpr int64_t kBytes = 32;
  static float32x4_t load(const std::byte* column, int64_t q) {
    const uint16x4_t words = vld1_u16(reinterpret_cast<const uint16_t*>(column) + q * 4);
    return vreinterpretq_f32_u32(vshll_n_u16(words, 16));
  }
};

// sums [Tokens][16] += the span's even columns + its odd columns.
template <class Panel, int64_t Tokens>
void add_span(const std::byte* weights, const float* x, int64_t x_stride, int64_t cols,
              float* sums) {
  float32x4_t chains[2][Tokens][kQuarters];  // even, odd
  for (auto& tokens : chains) {
    for (auto& token : tokens) {
      for (float32x4_t& sum : token)
        sum = vdupq_n_f32(0);
    }
  }
  int64_t col = 0;
  for (; col + 4 <= cols; col += 4, weights += 4 * Panel::kBytes) {
    float32x4_t in[Tokens];
    for (int64_t t = 0; t < Tokens; ++t)
      in[t] = vld1q_f32(x + t * x_stride + col);
    const auto add_column = [&]<int Column>() {
      for (int64_t q = 0; q < kQuarters; ++q) {
        const float32x4_t w = Panel::load(weights + Column * Panel::kBytes, q);
        for (int64_t t = 0; t < Tokens; ++t) {
          float32x4_t& sum = chains[Column % 2][t][q];
          sum = vfmaq_laneq_f32(sum, w, in[t], Column);
        }
      }
    };
    add_column.template operator()<0>();
    add_column.template operator()<1>();
    add_column.template operator()<2>();
    add_column.template operator()<3>();
  }
  for (; col < cols; ++col, weights += Panel::kBytes) {
    for (int64_t t = 0; t < Tokens; ++t) {
      for (int64_t q = 0; q < kQuarters; ++q) {
        float32x4_t& sum = chains[col % 2][t][q];
        sum = vfmaq_n_f32(sum, Panel::load(weights, q), x[t * x_stride + col]);
      }
    }
  }
  for (int64_t t = 0; t < Tokens; ++t) {
    for (int64_t q = 0; q < kQuarters; ++q) {
      float* sum = sums + t * 16 + q * 4;
      vst1q_f32(sum, vaddq_f32(vld1q_f32(sum), vaddq_f32(chains[0][t][q], chains[1][t][q])));
    }
  }
}

// Up to 128 columns of one panel's product.
struct Span {
  int64_t col;
  int64_t cols;
  const float* x;  // [tokens], row stride x_stride, from `col` on
  int64_t x_stride;
  int64_t tokens;
  float* sums;  // [tokens][16]
};

template <class Panel>
void add_tokens(const std::byte* weights, const Span& span) {
  int64_t t = 0;
  for (; t + kTokensTogether <= span.tokens; t += kTokensTogether)
    add_span<Panel, kTokensTogether>(weights, span.x + t * span.x_stride, span.x_stride, span.cols,
                                     span.sums + t * 16);
  if (t == span.tokens) return;
  add_span<Panel, 1>(weights, span.x + t * span.x_stride, span.x_stride, span.cols,
                     span.sums + t * 16);
}

// Calls add(row, span) for every panel's first row, 128 columns at a time.
template <class Add>
void linear_by_spans(const LinearArgs& args, int64_t begin, int64_t end, const Add& add) {
  const auto* x = reinterpret_cast<const float*>(args.x);
  float sums[kBlockTokens * 16];
  for (int64_t token = 0; token < args.tokens; token += kBlockTokens) {
    const int64_t left = args.tokens - token;
    const int64_t tokens = left < kBlockTokens ? left : kBlockTokens;
    for (int64_t row = begin; row < end; row += 16) {
      __builtin_memset(sums, 0, static_cast<size_t>(tokens * 16) * sizeof(float));
      for (int64_t col = 0; col < args.cols; col += kSpan) {
        const int64_t cols = args.cols - col < kSpan ? args.cols - col : kSpan;
        add(row, {col, cols, x + token * args.cols + col, args.cols, tokens, sums});
      }
      for (int64_t t = 0; t < tokens; ++t)
        finish_row(args, token + t, row, end, sums + t * 16);
    }
  }
}

const std::byte* bytes_of(const float (&tile)[kSpan][16]) {
  return reinterpret_cast<const std::byte*>(tile);
}

template <class Panel>
void linear_floats(const LinearArgs& args, int64_t begin, int64_t end) {
  float tile[kSpan][16];
  const bool is_widened = Panel::kBytes < F32Panel::kBytes && args.tokens > kDirectTokens;
  const auto add = [&](int64_t row, const Span& span) {
    const std::byte* weights =
        args.weights + row / 16 * args.weight_stride + span.col * Panel::kBytes;
    if (!is_widened) return add_tokens<Panel>(weights, span);
    for (int64_t c = 0; c < span.cols; ++c) {
      for (int64_t q = 0; q < kQuarters; ++q)
        vst1q_f32(tile[c] + q * 4, Panel::load(weights + c * Panel::kBytes, q));
    }
    add_tokens<F32Panel>(bytes_of(tile), span);
  };
  linear_by_spans(args, begin, end, add);
}

}  // namespace

void linear_f32_neon(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_floats<F32Panel>(args, begin, end);
}
void linear_f16_neon(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_floats<F16Panel>(args, begin, end);
}
void linear_bf16_neon(const LinearArgs& args, int64_t begin, int64_t end) {
  linear_floats<BF16Panel>(args, begin, end);
}

void linear_rows_neon(const LinearArgs& args, int64_t begin, int64_t end) {
  float rows[16][kDecodeColumns] = {};
  float tile[kSpan][16];
  const auto add = [&](int64_t row, const Span& span) {
    const int64_t first = span.col % kDecodeColumns;
    if (first == 0) {
      const int64_t left = args.cols - span.col;
      const int64_t count = left < kDecodeColumns ? left : kDecodeColumns;
      const std::byte* from =
          args.weights + row * args.weight_stride + decode_bytes(args.layout, span.col);
      for (int64_t r = 0; r < 16 && row + r < end; ++r)
        decode_values(args.layout, from + r * args.weight_stride, count, rows[r]);
    }
    for (int64_t c = 0; c < span.cols; ++c) {
      for (int64_t r = 0; r < 16; ++r)
        tile[c][r] = rows[r][first + c];
    }
    add_tokens<F32Panel>(bytes_of(tile), span);
  };
  linear_by_spans(args, begin, end, add);
}

}  // namespace ingot::cpu
