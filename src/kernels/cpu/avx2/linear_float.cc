// SPDX-License-Identifier: Apache-2.0
// Weights as floats of any width, by float activations. A tile is 4 weight rows by up to 3 tokens,
// one 8-lane accumulator per output: lane j sums columns j, j + 8, ... by FMA, and the lanes are
// summed once at the end. Tiles, runs of columns and blocks of tokens only decide which outputs are
// in flight together, never the order within one. Per call: rows * row bytes of weights read once
// per token block, 2 * rows * cols * tokens flops; about 60 to 70% of the FMA peak for many tokens.
// Show it with `ingot bench kernels linear`.
#include "kernels/cpu/avx2/linear.h"
#include "kernels/cpu/avx2/vectors.h"
#include "kernels/decode_rows.h"

namespace ingot::cpu {
namespace {

constexpr int64_t kRows = 4;  // of a tile
constexpr int64_t kTokens =
    3;  // of a tile: 12 accumulators, 3 inputs and a weight fill the registers
constexpr int64_t kManyTokens = 2 * kTokens;
constexpr int64_t kBlockTokens = 96;
constexpr int64_t kGroupRows = 16;  // decoded together: 16 KiB, so that they stay in L1
constexpr int64_t kRunColumns = 256;
// Accumulators wait in memory between runs of columns: [tokens][kGroupRows][8 lanes].
constexpr int64_t kTokenLanes = kGroupRows * 8;

struct Matrix {
  const std::byte* data;
  int64_t row_bytes;

  Matrix at(int64_t row, int64_t byte = 0) const {
    return {data + row * row_bytes + byte, row_bytes};
  }
};

// Whole vectors of columns.
template <class Elements, int64_t Rows, int64_t Tokens>
void add_tile(Matrix weights, Matrix x, int64_t whole, float* sums) {
  __m256 acc[Tokens][Rows];
  for (int64_t t = 0; t < Tokens; ++t) {
    for (int64_t r = 0; r < Rows; ++r)
      acc[t][r] = _mm256_load_ps(sums + t * kTokenLanes + r * 8);
  }
  for (int64_t col = 0; col < whole; col += 8) {
    __m256 in[Tokens];
    for (int64_t t = 0; t < Tokens; ++t)
      in[t] = F32Elements::load(x.at(t, col * F32Elements::kBytes).data);
    for (int64_t r = 0; r < Rows; ++r) {
      const __m256 w = Elements::load(weights.at(r, col * Elements::kBytes).data);
      for (int64_t t = 0; t < Tokens; ++t)
        acc[t][r] = _mm256_fmadd_ps(w, in[t], acc[t][r]);
    }
  }
  for (int64_t t = 0; t < Tokens; ++t) {
    for (int64_t r = 0; r < Rows; ++r)
      _mm256_store_ps(sums + t * kTokenLanes + r * 8, acc[t][r]);
  }
}

// The last cols % 8 columns. Kept out of line: its mask would cost the tile above a register.
template <class Elements>
[[gnu::noinline]] void add_rest(Matrix weights, int64_t rows, Matrix x, int64_t tokens,
                                int64_t rest, float* sums) {
  for (int64_t r = 0; r < rows; ++r) {
    const __m256 w = Elements::load_some(weights.at(r).data, rest);
    for (int64_t t = 0; t < tokens; ++t) {
      float* lanes = sums + t * kTokenLanes + r * 8;
      const __m256 in = F32Elements::load_some(x.at(t).data, rest);
      _mm256_store_ps(lanes, _mm256_fmadd_ps(w, in, _mm256_load_ps(lanes)));
    }
  }
}

template <class Elements, int64_t Tokens>
void add_rows(Matrix weights, int64_t rows, Matrix x, int64_t whole, float* sums) {
  int64_t r = 0;
  for (; r + kRows <= rows; r += kRows)
    add_tile<Elements, kRows, Tokens>(weights.at(r), x, whole, sums + r * 8);
  for (; r < rows; ++r)
    add_tile<Elements, 1, Tokens>(weights.at(r), x, whole, sums + r * 8);
}

// A run of columns of some rows by all tokens of a block.
template <class Elements>
void add_run(Matrix weights, int64_t rows, Matrix x, int64_t tokens, int64_t cols, float* sums) {
  const int64_t whole = cols & ~int64_t{7};
  int64_t t = 0;
  for (; t + kTokens <= tokens; t += kTokens)
    add_rows<Elements, kTokens>(weights, rows, x.at(t), whole, sums + t * kTokenLanes);
  for (; t < tokens; ++t)
    add_rows<Elements, 1>(weights, rows, x.at(t), whole, sums + t * kTokenLanes);
  if (whole < cols) {
    add_rest<Elements>(weights.at(0, whole * Elements::kBytes), rows,
                       x.at(0, whole * F32Elements::kBytes), tokens, cols - whole, sums);
  }
}

void finish(const LinearArgs& args, int64_t row, int64_t rows, int64_t token, int64_t tokens,
            const float* sums) {
  for (int64_t t = 0; t < tokens; ++t) {
    float* y = args.y + (token + t) * args.y_stride + row;
    for (int64_t r = 0; r < rows; ++r) {
      const float sum = sum_lanes(_mm256_load_ps(sums + t * kTokenLanes + r * 8));
      y[r] = args.bias == nullptr ? sum : sum + args.bias[row + r];
    }
  }
}

// Calls run_columns(weights, rows, x, tokens, sums) for every group of rows and block of tokens.
template <class RunColumns>
void for_groups(const LinearArgs& args, int64_t begin, int64_t end, RunColumns run_columns) {
  const Matrix x{args.x, args.cols * F32Elements::kBytes};
  const Matrix weights{args.weights, args.weight_row_bytes};
  alignas(32) float sums[kBlockTokens * kTokenLanes];
  for (int64_t token = 0; token < args.tokens; token += kBlockTokens) {
    const int64_t left = args.tokens - token;
    const int64_t tokens = left < kBlockTokens ? left : kBlockTokens;
    for (int64_t row = begin; row < end; row += kGroupRows) {
      const int64_t rows = end - row < kGroupRows ? end - row : kGroupRows;
      __builtin_memset(sums, 0, static_cast<size_t>(tokens * kTokenLanes) * sizeof(float));
      run_columns(weights.at(row), rows, x.at(token), tokens, sums);
      finish(args, row, rows, token, tokens, sums);
    }
  }
}

// A few tokens: weights are widened as they stream by.
template <class Elements>
void linear_by_rows(const LinearArgs& args, int64_t begin, int64_t end) {
  for_groups(args, begin, end,
             [&](Matrix weights, int64_t rows, Matrix x, int64_t tokens, float* sums) {
               add_run<Elements>(weights, rows, x, tokens, args.cols, sums);
             });
}

// Many tokens: runs of columns become floats side by side in L1 first. That pays even for float
// weights: their rows lie a power of two apart and would push each other out of the cache.
template <class Decode>
void linear_by_runs(const LinearArgs& args, int64_t begin, int64_t end, Decode decode) {
  alignas(32) float decoded[kGroupRows][kRunColumns];
  const Matrix run{reinterpret_cast<const std::byte*>(decoded), sizeof(decoded[0])};
  for_groups(
      args, begin, end, [&](Matrix weights, int64_t rows, Matrix x, int64_t tokens, float* sums) {
        for (int64_t col = 0; col < args.cols; col += kRunColumns) {
          const int64_t left = args.cols - col;
          const int64_t length = left < kRunColumns ? left : kRunColumns;
          for (int64_t r = 0; r < rows; ++r)
            decode(weights.at(r).data, col, length, decoded[r]);
          add_run<F32Elements>(run, rows, x.at(0, col * F32Elements::kBytes), tokens, length, sums);
        }
      });
}

template <class Elements>
void widen(const std::byte* row, int64_t col, int64_t length, float* out) {
  const std::byte* from = row + col * Elements::kBytes;
  int64_t i = 0;
  for (; i + 8 <= length; i += 8)
    _mm256_storeu_ps(out + i, Elements::load(from + i * Elements::kBytes));
  if (i < length) {
    _mm256_maskstore_ps(out + i, lane_mask(length - i),
                        Elements::load_some(from + i * Elements::kBytes, length - i));
  }
}

template <class Elements>
void linear(const LinearArgs& args, int64_t begin, int64_t end) {
  if (args.tokens < kManyTokens) {
    linear_by_rows<Elements>(args, begin, end);
  } else {
    linear_by_runs(args, begin, end, widen<Elements>);
  }
}

}  // namespace

void linear_f32_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear<F32Elements>(args, begin, end);
}
void linear_f16_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear<F16Elements>(args, begin, end);
}
void linear_bf16_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  linear<BF16Elements>(args, begin, end);
}

void linear_decode_avx2(const LinearArgs& args, int64_t begin, int64_t end) {
  const Layout layout = args.layout;
  linear_by_runs(args, begin, end,
                 [layout](const std::byte* row, int64_t col, int64_t length, float* out) {
                   decode_values(layout, row + decode_bytes(layout, col), length, out);
                 });
}

}  // namespace ingot::cpu
