// SPDX-License-Identifier: Apache-2.0
// The walk over panels and tokens that the integer kernels share. Few tokens: a panel's codes are
// unpacked in registers and multiplied as they stream by. Many: 256 columns of two panels are
// unpacked once into a tile in L1, and a block of tokens passes over it, a few at a time. Both ways
// add the same whole numbers and round at the same places: the same bits.
//
// A Core has
//   Input                                    an activation block of 256 columns
//   Tile                                     256 columns of a panel, unpacked
//   kPassTokens                              that share the loads of a tile
//   kFewTokens                               above them unpacking into a tile pays
//   direct<Tokens>(panel, args, x, stride, sums)  all columns; sums [Tokens][16], overwritten
//   fill(panel, args, block, tile)
//   add<Panels, Tokens>(tiles, args, block, x, stride, sums)  sums [Tokens][2][16] += ...
#pragma once

#include "kernels/cpu/avx512/codes.h"
#include "kernels/cpu/inputs_ahead.h"
#include "kernels/cpu/tile_tokens.h"
#include "kernels/linear.h"

namespace ingot::cpu {
namespace {

inline constexpr int64_t kDirectTokens = tile_tokens(8);  // at most at a time
inline constexpr int64_t kTileTokens = tile_tokens(6);    // that share the loads of a tile
inline constexpr int64_t kTilePanels = 2;
inline constexpr int64_t kBlockTokens = 192;  // that pass over one tile
inline constexpr int64_t kTokenSums = kTilePanels * 16;
inline constexpr int64_t kTileSums = kBlockTokens * kTokenSums;
// Whose sums wait in L2 while columns pass in pieces: in y their lines would lie a row apart, meet
// in a few sets of every cache, and be fetched anew for each piece.
inline constexpr int64_t kPieceTiles = 8;

// Calls function.operator()<N>() for N = count, 1 <= count <= Most.
template <int64_t Most, class Function>
inline void with_count(int64_t count, Function&& function) {
  if constexpr (Most == 1) {
    function.template operator()<1>();
  } else {
    if (count == Most) return function.template operator()<Most>();
    with_count<Most - 1>(count, function);
  }
}

inline __mmask16 mask_of_rows(int64_t row, int64_t end) {
  const int64_t rows = end - row < 16 ? end - row : 16;
  return static_cast<__mmask16>((1u << rows) - 1);
}
// Outputs that no cache would keep until they are read. Their lines need not be fetched to be
// written, if they are written whole: gate and up of 512 tokens are 4 to 6 % faster for it.
inline bool are_streamed(const LinearArgs& args) {
  constexpr int64_t kBytes = int64_t{8} << 20;
  const bool are_whole =
      reinterpret_cast<uintptr_t>(args.y) % kLine == 0 && args.y_stride % 16 == 0;
  return are_whole && args.tokens * args.y_stride * int64_t{sizeof(float)} >= kBytes;
}
// Sums of 16 rows, scaled, to y. Who streams them puts a fence behind all.
inline void finish_row(const LinearArgs& args, int64_t token, int64_t row, int64_t end,
                       const float* sums, bool is_streamed = false) {
  const __mmask16 mask = mask_of_rows(row, end);
  __m512 total = _mm512_mul_ps(_mm512_loadu_ps(sums), _mm512_set1_ps(args.scale));
  if (args.bias != nullptr)
    total = _mm512_add_ps(total, _mm512_maskz_loadu_ps(mask, args.bias + row));
  float* y = args.y + token * args.y_stride + row;
  if (is_streamed && mask == 0xFFFF) {
    _mm512_stream_ps(y, total);
  } else {
    _mm512_mask_storeu_ps(y, mask, total);
  }
}

// Even shares of at most kDirectTokens, each by itself.
template <class Function>
void for_few_tokens(int64_t tokens, Function&& function) {
  const int64_t shares = (tokens + kDirectTokens - 1) / kDirectTokens;
  for (int64_t i = 0; i < shares; ++i)
    function(tokens * i / shares, tokens * (i + 1) / shares);
}

// After the first tokens a panel is in the cache for the others.
template <class Core>
void linear_direct(const LinearArgs& args, int64_t begin, int64_t end, int64_t stride) {
  const auto* x = reinterpret_cast<const typename Core::Input*>(args.x);
  for (int64_t row = begin; row < end; row += 16) {
    const std::byte* panel = args.weights + row / 16 * args.weight_stride;
    for_few_tokens(args.tokens, [&](int64_t from, int64_t to) {
      with_count<kDirectTokens>(to - from, [&]<int64_t Tokens>() {
        alignas(64) float sums[Tokens * 16];
        Core::template direct<Tokens>(panel, args, x + from * stride, stride, sums);
        for (int64_t t = 0; t < Tokens; ++t)
          finish_row(args, from + t, row, end, sums + t * 16);
      });
    });
  }
}

// before(first, count) and after(first, count) of every few tokens that pass.
template <class Core, int64_t Panels, class Before, class After>
void add_block(const typename Core::Tile* tiles, const LinearArgs& args, int64_t block,
               const typename Core::Input* x, int64_t stride, int64_t tokens, float* sums,
               Before&& before, After&& after) {
  const auto pass = [&]<int64_t Tokens>(int64_t t) {
    before(t, Tokens);
    Core::template add<Panels, Tokens>(tiles, args, block, x + t * stride, stride,
                                       sums + t * kTokenSums);
    after(t, Tokens);
  };
  constexpr int64_t kMost = Core::kPassTokens;
  int64_t t = 0;
  for (; t + kMost <= tokens; t += kMost)
    pass.template operator()<kMost>(t);
  if (t == tokens) return;
  with_count<kMost - 1>(tokens - t, [&]<int64_t Tokens>() { pass.template operator()<Tokens>(t); });
}

// A block of a panel that will be unpacked next, on its way while the tokens pass over this one: so
// long a pause leaves the processor's own prefetcher without a stream. Always inlined: by itself it
// has no effect that the compiler would keep.
template <class Core>
[[gnu::always_inline]] inline void prefetch_block(const std::byte* panel, int64_t block) {
  constexpr int64_t kBytes = Core::kScaleBytes + 8 * Core::kRunBytes;
  for (int64_t i = 0; i < kBytes; i += kLine)
    _mm_prefetch(reinterpret_cast<const char*>(panel + block * kBytes + i), _MM_HINT_T1);
}

// Some tokens by columns [first, last) of blocks, by some rows; sums [tiles of rows][kTileSums].
// `are_new`: the inputs are not in L2.
template <class Core>
void add_columns(const LinearArgs& args, int64_t begin, int64_t end, int64_t stride, int64_t token,
                 int64_t tokens, int64_t first, int64_t last, bool are_new, float* sums) {
  const auto* x = reinterpret_cast<const typename Core::Input*>(args.x) + token * stride;
  typename Core::Tile tiles[kTilePanels];
  const bool is_streamed = are_streamed(args);
  for (int64_t row = begin; row < end; row += kTilePanels * 16, sums += kTileSums) {
    const int64_t panels = end - row > 16 ? 2 : 1;
    const std::byte* panel = args.weights + row / 16 * args.weight_stride;
    for (int64_t block = first; block < last; ++block) {
      const bool is_last = block + 1 == last;
      for (int64_t p = 0; p < panels; ++p)
        Core::fill(panel + p * args.weight_stride, args, block, tiles[p]);
      for (int64_t p = 0; p < panels; ++p)  // of the next rows, past the end too
        prefetch_block<Core>(panel + (is_last ? p + kTilePanels : p) * args.weight_stride,
                             is_last ? first : block + 1);
      // In passing, not for all tokens at once: so many stores to y would wait for each other.
      const auto start = [&](int64_t from, int64_t count) {
        if (are_new && row == begin) ask_for_inputs(x + from * stride + block, stride, count);
        if (block > 0) return;
        for (int64_t t = from; t < from + count; ++t)
          for (int64_t p = 0; p < panels; ++p)
            _mm512_store_ps(sums + t * kTokenSums + p * 16, _mm512_setzero_ps());
      };
      const auto finish = [&](int64_t from, int64_t count) {
        if (block + 1 < stride) return;
        for (int64_t t = from; t < from + count; ++t)
          for (int64_t p = 0; p < panels; ++p)
            finish_row(args, token + t, row + p * 16, end, sums + t * kTokenSums + p * 16,
                       is_streamed);
      };
      if (panels == 2) {
        add_block<Core, 2>(tiles, args, block, x + block, stride, tokens, sums, start, finish);
      } else {
        add_block<Core, 1>(tiles, args, block, x + block, stride, tokens, sums, start, finish);
      }
    }
  }
}

// The inputs of a block of tokens stay in L2. Where that would leave too few tokens to pay for the
// tiles, they pass in pieces of columns.
template <class Core>
void linear_by_tiles(const LinearArgs& args, int64_t begin, int64_t end, int64_t stride) {
  constexpr int64_t kBytes = sizeof(typename Core::Input);
  constexpr int64_t kPassTokens = Core::kPassTokens;
  const int64_t kept_bytes = args.l2_bytes / 2;
  int64_t most_tokens = kept_bytes / (stride * kBytes) / kPassTokens * kPassTokens;
  int64_t pieces = 1;
  if (most_tokens < kBlockTokens / 2) {
    most_tokens = kBlockTokens;
    pieces = (stride * kBytes * kBlockTokens + kept_bytes - 1) / kept_bytes;
  }
  if (most_tokens > kBlockTokens) most_tokens = kBlockTokens;
  // Even shares: a few tokens left over would pay for tiles of their own.
  const int64_t shares = (args.tokens + most_tokens - 1) / most_tokens;
  const int64_t share =
      (args.tokens + shares * kPassTokens - 1) / (shares * kPassTokens) * kPassTokens;
  alignas(64) float sums[kPieceTiles * kTileSums];
  const int64_t rows = (pieces == 1 ? 1 : kPieceTiles) * kTilePanels * 16;
  for (int64_t token = 0; token < args.tokens; token += share) {
    const int64_t left = args.tokens - token;
    const int64_t tokens = left < share ? left : share;
    for (int64_t row = begin; row < end; row += rows) {
      const int64_t row_end = end - row < rows ? end : row + rows;
      for (int64_t i = 0; i < pieces; ++i)
        add_columns<Core>(args, row, row_end, stride, token, tokens, stride * i / pieces,
                          stride * (i + 1) / pieces, pieces > 1 || row == begin, sums);
    }
  }
  if (are_streamed(args)) _mm_sfence();
}

template <class Core>
void linear_by_panels(const LinearArgs& args, int64_t begin, int64_t end) {
  const int64_t blocks = (args.cols + kPackedColumns - 1) / kPackedColumns;
  if (args.tokens <= Core::kFewTokens) {
    linear_direct<Core>(args, begin, end, blocks);
  } else {
    linear_by_tiles<Core>(args, begin, end, blocks);
  }
}

}  // namespace
}  // namespace ingot::cpu
