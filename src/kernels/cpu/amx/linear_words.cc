// SPDX-License-Identifier: Apache-2.0
// F16 as whole numbers of 14 bits by inputs of 13, by int8 tiles: both are split into a high byte
// with sign and a low one of seven bits, w = 128 wh + wl and x = 128 xh + xl, so that
//   w x = 2^14 wh xh + 2^7 (wh xl + wl xh) + wl xl
// takes four tile products for 16 tokens by 16 rows by 64 columns (64 cycles), where AVX-512 has
// 512 dots of words (256 cycles). Sums of whole numbers are exact: the outputs are those of
// AVX-512, which few tokens use. Show it with `ingot bench kernels f16words`.
#include "kernels/cpu/amx/linear.h"
#include "kernels/cpu/amx/token_blocks.h"
#include "kernels/cpu/avx512/linear.h"

namespace ingot::cpu {
namespace {

constexpr int64_t kGroups = 2;  // of a block
constexpr int64_t kParts = 2;   // of 64 columns in a group

// 256 columns of a panel: lines of 16 rows by 4 columns.
struct alignas(64) Weights {
  __m512i high[64];
  __m512i low[64];
  __m512 scales[kGroups];
};

// Sums of sixteen tokens by 16 rows by 128 columns.
struct alignas(64) Products {
  int32_t high[16][16];
  int32_t mixed[16][16];
  int32_t low[16][16];
};

struct Unit {
  const Weights* weights;
  const I16G128Tile* x;
  float (*sums)[16];
};

inline void multiply(const Unit& unit, int64_t group, Products& products) {
  settle_memory();
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
#pragma GCC unroll 2
  for (int64_t part = group * kParts; part < (group + 1) * kParts; ++part) {
    _tile_loadd(4, unit.x->high[part], 64);
    _tile_loadd(6, unit.weights->high + part * 16, 64);
    _tile_dpbssd(0, 4, 6);
    _tile_loadd(5, unit.x->low[part], 64);
    _tile_dpbssd(1, 5, 6);
    _tile_loadd(7, unit.weights->low + part * 16, 64);
    _tile_dpbssd(2, 5, 7);
    _tile_dpbssd(1, 4, 7);
  }
  _tile_stored(0, products.high, 64);
  _tile_stored(2, products.low, 64);
  _tile_stored(1, products.mixed, 64);
  settle_memory();
}

inline void add(const Unit& unit, int64_t group, const Products& products, __m512 (&sums)[16]) {
  const __m512 scale = unit.weights->scales[group];
#pragma GCC unroll 16
  for (int64_t t = 0; t < 16; ++t) {
    // ((high << 7) + mixed << 7) + low
    __m512i total = _mm512_slli_epi32(_mm512_load_si512(products.high[t]), 7);
    total = _mm512_add_epi32(total, _mm512_load_si512(products.mixed[t]));
    total = _mm512_add_epi32(_mm512_slli_epi32(total, 7), _mm512_load_si512(products.low[t]));
    sums[t] = _mm512_fmadd_ps(_mm512_mul_ps(scale, _mm512_cvtepi32_ps(total)),
                              _mm512_set1_ps(unit.x->scales[group][t]), sums[t]);
  }
}

// Bytes 0 and 2 of every lane of two lines of words: four columns of a row side by side.
inline __m512i bytes_of_words(__m512i first, __m512i second) {
  alignas(64) static constexpr auto kOrder = [] {
    struct {
      uint8_t bytes[64];
    } order{};
    for (int i = 0; i < 64; ++i)
      order.bytes[i] = static_cast<uint8_t>(i / 4 * 4 + i % 2 * 2 + (i % 4 < 2 ? 0 : 64));
    return order;
  }();
  return _mm512_permutex2var_epi8(first, _mm512_load_si512(&kOrder), second);
}

struct WordsWalk {
  using Input = I16G128Tile;
  static constexpr int64_t kBytes = kLine + 128 * kLine;  // of a block

  Weights weights[2];
  Products products[2];

  void fill(const std::byte* panel, int64_t p, int64_t block) {
    const std::byte* at = panel + block * kBytes;
    Weights& out = weights[p];
    for (int64_t group = 0; group < kGroups; ++group) {
      const __m128i exponents = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + group * 16));
      out.scales[group] =
          _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu8_epi32(exponents), 23));
    }
    at += kLine;
    for (int64_t i = 0; i < 64; ++i) {
      const __m512i first = load_line(at + 2 * i * kLine);
      const __m512i second = load_line(at + (2 * i + 1) * kLine);
      out.high[i] = bytes_of_words(_mm512_srai_epi16(first, 7), _mm512_srai_epi16(second, 7));
      out.low[i] = _mm512_and_si512(bytes_of_words(first, second), every_byte(127));
    }
  }
  Unit unit_at(int64_t i, int64_t panels, const I16G128Tile* x, int64_t stride, GroupSums* sums) {
    return {&weights[i % panels], x + i / panels * stride, sums[i / panels].values[i % panels]};
  }
  void pass(int64_t panels, const I16G128Tile* x, int64_t stride, int64_t groups, GroupSums* sums) {
    const int64_t units = groups * panels;
    Unit unit = unit_at(0, panels, x, stride, sums);
    multiply(unit, 0, products[0]);
    for (int64_t i = 0; i < units; ++i) {
      // The last unit's next is itself: a product for nothing.
      const Unit next = unit_at(i + 1 < units ? i + 1 : i, panels, x, stride, sums);
      __m512 totals[16];
#pragma GCC unroll 16
      for (int64_t t = 0; t < 16; ++t)
        totals[t] = _mm512_load_ps(unit.sums[t]);
#pragma GCC unroll 2
      for (int64_t group = 0; group < kGroups; ++group) {
        multiply(group + 1 < kGroups ? unit : next, (group + 1) % kGroups,
                 products[(group + 1) % 2]);
        add(unit, group, products[group % 2], totals);
      }
#pragma GCC unroll 16
      for (int64_t t = 0; t < 16; ++t)
        _mm512_store_ps(unit.sums[t], totals[t]);
      unit = next;
    }
  }
};

}  // namespace

void linear_f16words_amx(const LinearArgs& args, int64_t begin, int64_t end) {
  if (args.tokens < kAmxTokens) return linear_f16words_avx512(args, begin, end);
  const TileShapes shapes(16, 64);
  WordsWalk walk;
  walk_token_blocks(args, begin, end, walk);
}

}  // namespace ingot::cpu
