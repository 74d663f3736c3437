// SPDX-License-Identifier: Apache-2.0
// e4m3 to bf16, exactly, by two lookups of bytes: 64 codes to 64 values. Shifting the bits into
// place would be as long and leave the smallest codes as denormals, which the dot products take for
// zeros. In an anonymous namespace on purpose: it is built with its target's flags.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace ingot::cpu {
namespace {

struct alignas(64) E4m3Table {
  uint8_t high[128];  // bytes of the bf16 of a code without its sign
  uint8_t low[128];
};

constexpr E4m3Table make_e4m3_table() {
  E4m3Table table{};
  for (int code = 0; code < 128; ++code) {
    int exponent = code >> 3;  // of bias 7
    int mantissa = code & 7;
    int bits = 0;
    if (code == 127) {
      bits = 0x7FC0;  // NaN
    } else if (code != 0) {
      if (exponent == 0) {  // a denormal: to the form 1.m
        exponent = 1;
        while (mantissa < 8) {
          mantissa *= 2;
          --exponent;
        }
        mantissa -= 8;
      }
      bits = ((exponent - 7 + 127) << 7) | (mantissa << 4);
    }
    table.high[code] = static_cast<uint8_t>(bits >> 8);
    table.low[code] = static_cast<uint8_t>(bits & 0xFF);
  }
  return table;
}
constexpr E4m3Table kE4m3 = make_e4m3_table();

class E4m3Decoder {
 public:
  // Lines of a panel in the order of kF8Pairs: the two columns of a pair to `first`, the next pair
  // to `second`, each [16 rows][2].
  void decode(const std::byte* line, __m512bh& first, __m512bh& second) const {
    const __m512i codes = _mm512_loadu_si512(line);
    const __m512i low = _mm512_permutex2var_epi8(low_[0], codes, low_[1]);
    const __m512i magnitude = _mm512_permutex2var_epi8(high_[0], codes, high_[1]);
    // magnitude | (codes & 0x80)
    const __m512i high = _mm512_ternarylogic_epi32(magnitude, codes,
                                                   _mm512_set1_epi8(static_cast<char>(0x80)), 0xF8);
    first = reinterpret_cast<__m512bh>(_mm512_unpacklo_epi8(low, high));
    second = reinterpret_cast<__m512bh>(_mm512_unpackhi_epi8(low, high));
  }

 private:
  const __m512i high_[2] = {_mm512_load_si512(kE4m3.high), _mm512_load_si512(kE4m3.high + 64)};
  const __m512i low_[2] = {_mm512_load_si512(kE4m3.low), _mm512_load_si512(kE4m3.low + 64)};
};

}  // namespace
}  // namespace ingot::cpu
