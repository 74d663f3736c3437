// SPDX-License-Identifier: Apache-2.0
// Weights as floats of any width, by float activations. A tile is 4 weight rows by up to 3 tokens,
// one 8-lane accumulator per output: lane j sums columns j, j + 8, ... by FMA, and the lanes are
// summed once at the end. Tiles, column runs and token blocks only decide which outputs are in
// flight together, never the order within one.
// Per call: rows * row bytes of weights read once per token block, 2 * rows * cols * tokens flops.
// Show it with `bench_kernels linear`.
#include "kernels/cpu/avx2/linear.h"
#include "kernels/cpu/avx2/vectors.h"
#include "kernels/decode_rows.h"

namespace ingot::cpu {
namespace {

constexpr int64_t kRows = 4;    // of a tile
constexpr int64_t kTokens = 3;  // of a tile: 12 accumulators, 3 inputs and a weight fill AVX2
constexpr int64_t kRunColumns = 1024;  // a tile's weights in L1: 16 KiB as floats
constexpr int64_t kMaxBlockTokens = 96;
constexpr int64_t kBlockBytes = 512 << 10;  // of inputs, to stay in L2 while the rows pass by

// The accumulators of one row tile, kept while the columns pass by in runs: [tokens][kRows][8
// lanes].
struct Sums {
  alignas(32) float lanes[kMaxBlockTokens * kRows * 8];
};
constexpr int64_t kTokenLanes = kRows * 8;

struct Matrix {
  const std::byte* data;
  int64_t row_bytes;
};

template <class Elements, int64_t Rows, int64_t Tokens>
void add_tile(Matrix weights, Matrix x, int64_t cols, float* sums) {
  __m256 acc[Tokens][Rows];
  for (int64_t t = 0; t < Tokens; ++t) {
    for (int64_t r = 0; r < Rows; ++r)
      acc[t][r] = _mm256_load_ps(sums + t * kTokenLanes + r * 8);
  }
  const int64_t whole = cols & ~int64_t{7};
  for (int64_t col = 0; col < whole; col += 8) {
    __m256 in[Tokens];
    for (int64_t t = 0; t < Tokens; ++t)
      in[t] = F32Elements::load(x.data + t * x.row_bytes + col * F32Elements::kBytes);
    for (int64_t r = 0; r < Rows; ++r) {
      const __m256 w =
          Elements::load(weights.data + r * weights.row_bytes + col * Elements::kBytes);
      for (int64_t t = 0; t < Tokens; ++t)
        acc[t][r] = _mm256_fmadd_ps(w, in[t], acc[t][r]);
    }
  }
  if (const int64_t rest = cols - whole; rest != 0) {
    for (int64_t r = 0; r < Rows; ++r) {
      const __m256 w = Elements::load_some(
          weights.data + r * weights.row_bytes + whole * Elements::kBytes, rest);
      for (int64_t t = 0; t < Tokens; ++t) {
        const __m256 in =
            F32Elements::load_some(x.data + t * x.row_bytes + whole * F32Elements::kBytes, rest);
        acc[t][r] = _mm256_fmadd_ps(w, in, acc[t][r]);
      }
    }
  }
  for (int64_t t = 0; t < Tokens; ++t) {
    for (int64_t r = 0; r < Rows; ++r)
      _mm256_store_ps(sums + t * kTokenLanes + r * 8, acc[t][r]);
  }
}

// All tokens of a block by `Rows` rows, one run of columns.
template <class Elements, int64_t Rows>
void add_run(Matrix weights, Matrix x, int64_t tokens, int64_t cols, float* sums) {
  int64_t t = 0;
  for (; t + kTokens <= tokens; t += kTokens) {
    add_tile<Elements, Rows, kTokens>(weights, {x.data + t * x.row_bytes, x.row_bytes}, cols,
                                      sums + t * kTokenLanes);
  }
  for (; t < tokens; ++t) {
    add_tile<Elements, Rows, 1>(weights, {x.data + t * x.row_bytes, x.row_bytes}, cols,
                                sums + t * kTokenLanes);
  }
}

template <class Elements>
void add_run(int64_t rows, Matrix weights, Matrix x, int64_t tokens, int64_t cols, Sums& sums) {
  if (rows == kRows) {
    add_run<Elements, kRows>(weights, x, tokens, cols, sums.lanes);
    return;
  }
  for (int64_t r = 0; r < rows; ++r) {
    add_run<Elements, 1>({weights.data + r * weights.row_bytes, weights.row_bytes}, x, tokens, cols,
                         sums.lanes + r * 8);
  }
}

void finish(const LinearArgs& args, int64_t row, int64_t rows, int64_t token, int64_t tokens,
            const Sums& sums) {
  for (int64_t t = 0; t < tokens; ++t) {
    float* y = args.y + (token + t) * args.y_stride;
    for (int64_t r = 0; r < rows; ++r) {
      const float sum = sum_lanes(_mm256_load_ps(sums.lanes + t * kTokenLanes + r * 8));
      y[row + r] = args.bias == nullptr ? sum : sum + args.bias[row + r];
    }
  }
}

// Calls run_columns(row, rows, x, tokens, sums) for every row tile of every block of tokens.
template <class RunColumns>
void for_tiles(const LinearArgs& args, int64_t begin, int64_t end, RunColumns run_columns) {
  const int64_t x_bytes = args.cols * F32Elements::kBytes;
  int64_t block = kBlockBytes / x_bytes / kTokens * kTokens;
  if (block < 4 * kTokens) block = 4 * kTokens;
  if (block > kMaxBlockTokens) block = kMaxBlockTokens;
  Sums sums;
  for (int64_t token = 0; token < args.tokens; token += block) {
    const int64_t tokens = args.tokens - token < block ? args.tokens - token : block;
    for (int64_t row = begin; row < end; row += kRows) {
      const int64_t rows = end - row < kRows ? end - row : kRows;
      __builtin_memset(sums.lanes, 0, static_cast<size_t>(tokens * kTokenLanes) * sizeof(float));
      run_columns(row, rows, Matrix{args.x + token * x_bytes, x_bytes}, tokens, sums);
      finish(args, row, rows, token, tokens, sums);
    }
  }
}

int64_t run_length(int64_t cols, int64_t col) {
  return cols - col < kRunColumns ? cols - col : kRunColumns;
}

template <class Elements>
void linear(const LinearArgs& args, int64_t begin, int64_t end) {
  for_tiles(args, begin, end, [&](int64_t row, int64_t rows, Matrix x, int64_t tokens, Sums& sums) {
    for (int64_t col = 0; col < args.cols; col += kRunColumns) {
      const std::byte* weights =
          args.weights + row * args.weight_row_bytes + col * Elements::kBytes;
      add_run<Elements>(rows, {weights, args.weight_row_bytes},
                        {x.data + col * F32Elements::kBytes, x.row_bytes}, tokens,
                        run_length(args.cols, col), sums);
    }
  });
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
  alignas(32) float decoded[kRows][kRunColumns];
  for_tiles(args, begin, end, [&](int64_t row, int64_t rows, Matrix x, int64_t tokens, Sums& sums) {
    for (int64_t col = 0; col < args.cols; col += kRunColumns) {
      const int64_t length = run_length(args.cols, col);
      for (int64_t r = 0; r < rows; ++r) {
        decode_values(
            args.layout,
            args.weights + (row + r) * args.weight_row_bytes + decode_bytes(args.layout, col),
            length, decoded[r]);
      }
      add_run<F32Elements>(rows,
                           {reinterpret_cast<const std::byte*>(decoded[0]), sizeof(decoded[0])},
                           {x.data + col * F32Elements::kBytes, x.row_bytes}, tokens, length, sums);
    }
  });
}

}  // namespace ingot::cpu
