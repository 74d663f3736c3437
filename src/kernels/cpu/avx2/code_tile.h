// SPDX-License-Identifier: Apache-2.0
// What the integer kernels share. Few tokens: each weight row is unpacked in registers and
// multiplied as it streams by. Many tokens: 8 rows by 256 columns are unpacked once into a tile in
// L1, columns in fours, so that lane r of every product is row r and a whole block of tokens passes
// over it. Both ways add the same whole numbers, and round only where the core says: the same bits.
#pragma once

#include "kernels/cpu/avx2/vectors.h"
#include "kernels/linear.h"

namespace ingot::cpu {
namespace {

inline constexpr int64_t kTileRows = 8;
inline constexpr int64_t kTileTokens = 4;    // tokens that share the loads of a tile
inline constexpr int64_t kFewTokens = 4;     // below it unpacking a tile does not pay
inline constexpr int64_t kBlockTokens = 64;  // tokens that pass over one tile
inline constexpr int64_t kBlockBytes = 512
                                       << 10;  // of inputs, to stay in L2 while the rows pass by

// Codes [64 fours of columns][8 rows][4 columns].
struct CodeTile {
  alignas(32) uint8_t codes[64][32];
};

// Row r, 32-bit lane c  ->  row c, lane r.
inline void transpose(__m256i (&v)[8]) {
  __m256i a[8];
  for (int64_t i = 0; i < 4; ++i) {
    a[2 * i] = _mm256_unpacklo_epi32(v[2 * i], v[2 * i + 1]);
    a[2 * i + 1] = _mm256_unpackhi_epi32(v[2 * i], v[2 * i + 1]);
  }
  __m256i b[8];
  for (int64_t i = 0; i < 2; ++i) {
    b[4 * i] = _mm256_unpacklo_epi64(a[4 * i], a[4 * i + 2]);
    b[4 * i + 1] = _mm256_unpackhi_epi64(a[4 * i], a[4 * i + 2]);
    b[4 * i + 2] = _mm256_unpacklo_epi64(a[4 * i + 1], a[4 * i + 3]);
    b[4 * i + 3] = _mm256_unpackhi_epi64(a[4 * i + 1], a[4 * i + 3]);
  }
  for (int64_t i = 0; i < 4; ++i) {
    v[i] = _mm256_permute2x128_si256(b[i], b[i + 4], 0x20);
    v[i + 4] = _mm256_permute2x128_si256(b[i], b[i + 4], 0x31);
  }
}

// rows[r][i]: columns 32i ... of row r.
inline void interleave(const __m256i (&rows)[8][8], CodeTile& tile) {
  for (int64_t i = 0; i < 8; ++i) {
    __m256i v[8];
    for (int64_t r = 0; r < 8; ++r)
      v[r] = rows[r][i];
    transpose(v);
    for (int64_t c = 0; c < 8; ++c)
      _mm256_store_si256(reinterpret_cast<__m256i*>(tile.codes[i * 8 + c]), v[c]);
  }
}

inline __m256i broadcast_4_bytes(const void* from) {
  int32_t value;
  __builtin_memcpy(&value, from, sizeof(value));
  return _mm256_set1_epi32(value);
}

// Products of adjacent codes, summed in pairs. Codes without sign go as they are; signed ones give
// their sign to the input, as the instruction wants one factor unsigned.
template <class Weights>
inline __m256i products(__m256i codes, __m256i magnitudes, __m256i x) {
  if constexpr (Weights::kIsSigned) {
    return _mm256_maddubs_epi16(magnitudes, _mm256_sign_epi8(x, codes));
  } else {
    return _mm256_maddubs_epi16(codes, x);
  }
}
template <class Weights>
inline __m256i magnitudes_of(__m256i codes) {
  return Weights::kIsSigned ? _mm256_abs_epi8(codes) : codes;
}

// Holds a sum in its register at this point: compilers like to regroup whole-number additions into
// trees, whose leaves then spill (twice as slow here).
inline void pin(__m256i& value) {
  asm("" : "+x"(value));
}

// sums[t] += scale * (Columns columns of a tile by token t's), lane = row. The pair sums are added
// as 16-bit numbers for as long as they cannot overflow.
template <class Weights, int64_t Columns, int64_t Tokens>
inline void add_products(const uint8_t (*tile)[32], const int8_t* const (&x)[Tokens], __m256i scale,
                         __m256i (&sums)[Tokens]) {
  constexpr int64_t kFours = Columns / 4;
  constexpr int64_t kMost = 32767 / (2 * 127 * Weights::kMaxCode);
  constexpr int64_t kRun = kMost >= kFours ? kFours : kMost >= 4 ? 4 : kMost >= 2 ? 2 : 1;
  for (int64_t four = 0; four < kFours; four += kRun) {
    __m256i pairs[Tokens];
    for (int64_t i = 0; i < kRun; ++i) {
      const __m256i codes = load_32_bytes(tile[four + i]);
      const __m256i magnitudes = magnitudes_of<Weights>(codes);
      for (int64_t t = 0; t < Tokens; ++t) {
        const __m256i in = broadcast_4_bytes(x[t] + (four + i) * 4);
        const __m256i product = products<Weights>(codes, magnitudes, in);
        pairs[t] = i == 0 ? product : _mm256_add_epi16(pairs[t], product);
        pin(pairs[t]);
      }
    }
    for (int64_t t = 0; t < Tokens; ++t)
      sums[t] = _mm256_add_epi32(sums[t], _mm256_madd_epi16(pairs[t], scale));
  }
}

// The walk over rows, tokens and blocks of 256 columns. A Core has
//   Input                                   an activation block of 256 columns
//   Tile                                    8 rows of weights, unpacked
//   dot(row, x, cols)                       one output by itself
//   fill(tile, weights, row_bytes, rows, block, cols)
//   add<Tokens>(tile, x, stride, sums)      sums [Tokens][8] += tile by x[t * stride]
template <class Core>
void linear_by_rows(const LinearArgs& args, int64_t begin, int64_t end, int64_t blocks) {
  const auto* x = reinterpret_cast<const typename Core::Input*>(args.x);
  for (int64_t row = begin; row < end; ++row) {
    for (int64_t token = 0; token < args.tokens; ++token) {
      const float sum =
          Core::dot(args.weights + row * args.weight_row_bytes, x + token * blocks, args.cols);
      args.y[token * args.y_stride + row] = args.bias == nullptr ? sum : sum + args.bias[row];
    }
  }
}

inline void finish_tile(const LinearArgs& args, int64_t row, int64_t rows, int64_t token,
                        int64_t tokens, const float* sums) {
  for (int64_t t = 0; t < tokens; ++t) {
    float* y = args.y + (token + t) * args.y_stride + row;
    for (int64_t r = 0; r < rows; ++r) {
      const float sum = sums[t * kTileRows + r];
      y[r] = args.bias == nullptr ? sum : sum + args.bias[row + r];
    }
  }
}

template <class Core>
void linear_by_tiles(const LinearArgs& args, int64_t begin, int64_t end, int64_t blocks) {
  const auto* x = reinterpret_cast<const typename Core::Input*>(args.x);
  const int64_t row_bytes = blocks * static_cast<int64_t>(sizeof(typename Core::Input));
  int64_t block_tokens = kBlockBytes / row_bytes / kTileTokens * kTileTokens;
  if (block_tokens < 4 * kTileTokens) block_tokens = 4 * kTileTokens;
  if (block_tokens > kBlockTokens) block_tokens = kBlockTokens;
  alignas(32) float sums[kBlockTokens * kTileRows];
  typename Core::Tile tile{};
  for (int64_t token = 0; token < args.tokens; token += block_tokens) {
    const int64_t left = args.tokens - token;
    const int64_t tokens = left < block_tokens ? left : block_tokens;
    for (int64_t row = begin; row < end; row += kTileRows) {
      const int64_t rows = end - row < kTileRows ? end - row : kTileRows;
      __builtin_memset(sums, 0, sizeof(sums));
      for (int64_t block = 0; block < blocks; ++block) {
        Core::fill(tile, args.weights + row * args.weight_row_bytes, args.weight_row_bytes, rows,
                   block, args.cols);
        const auto* in = x + token * blocks + block;
        int64_t t = 0;
        for (; t + kTileTokens <= tokens; t += kTileTokens)
          Core::template add<kTileTokens>(tile, in + t * blocks, blocks, sums + t * kTileRows);
        for (; t < tokens; ++t)
          Core::template add<1>(tile, in + t * blocks, blocks, sums + t * kTileRows);
      }
      finish_tile(args, row, rows, token, tokens, sums);
    }
  }
}

template <class Core>
void linear_by_codes(const LinearArgs& args, int64_t begin, int64_t end) {
  const int64_t blocks = (args.cols + kPackedColumns - 1) / kPackedColumns;
  if (args.tokens < kFewTokens) {
    linear_by_rows<Core>(args, begin, end, blocks);
  } else {
    linear_by_tiles<Core>(args, begin, end, blocks);
  }
}

}  // namespace
}  // namespace ingot::cpu
