// SPDX-License-Identifier: Apache-2.0
// From the planes of a panel to bytes, and from bytes to sums of products. A run of 32 columns of
// eight rows becomes eight registers, each 8 rows by 4 columns: lane = row, inputs are broadcast
// four columns at a time. In an anonymous namespace on purpose: each file gets its own copy, so
// that nothing built with these flags can become the linker's copy for all.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"

namespace ingot::cpu {
namespace {

inline constexpr int64_t kLine = 64;             // bytes: 16 rows
inline constexpr int64_t kHalfLine = 32;         // 8 rows
inline constexpr int64_t kPrefetchBytes = 4096;  // ahead of what streams by

inline __m256i load_8_rows(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}
inline __m256i every_byte(int value) {
  return _mm256_set1_epi8(static_cast<char>(value));
}
// Bits of every byte moved up (down: negative); those of a neighbour may come with them.
template <int Places>
inline __m256i moved(__m256i bytes) {
  if constexpr (Places == 0) return bytes;
  if constexpr (Places > 0) return _mm256_slli_epi16(bytes, Places);
  return _mm256_srli_epi16(bytes, -Places);
}
inline __m256i with_bits(__m256i codes, __m256i bits, __m256i mask) {
  return _mm256_or_si256(codes, _mm256_and_si256(bits, mask));
}

[[gnu::always_inline]] inline void read_nibbles(const std::byte* run, __m256i (&out)[8]) {
  const __m256i mask = every_byte(0xF);
#pragma GCC unroll 4
  for (int64_t i = 0; i < 4; ++i) {
    const __m256i line = load_8_rows(run + i * kLine);
    out[2 * i] = _mm256_and_si256(line, mask);
    out[2 * i + 1] = _mm256_and_si256(moved<-4>(line), mask);
  }
}

[[gnu::always_inline]] inline void read_two_bits(const std::byte* run, __m256i (&out)[8]) {
  const __m256i mask = every_byte(3);
#pragma GCC unroll 2
  for (int64_t i = 0; i < 2; ++i) {
    const __m256i line = load_8_rows(run + i * kLine);
    out[4 * i] = _mm256_and_si256(line, mask);
    out[4 * i + 1] = _mm256_and_si256(moved<-2>(line), mask);
    out[4 * i + 2] = _mm256_and_si256(moved<-4>(line), mask);
    out[4 * i + 3] = _mm256_and_si256(moved<-6>(line), mask);
  }
}

// One bit per code, into bit `Place`.
template <int Place>
[[gnu::always_inline]] inline void add_one_bit(const std::byte* at, __m256i (&out)[8]) {
  const __m256i line = load_8_rows(at);
  const __m256i mask = every_byte(1 << Place);
  out[0] = with_bits(out[0], moved<Place>(line), mask);
  out[1] = with_bits(out[1], moved<Place - 1>(line), mask);
  out[2] = with_bits(out[2], moved<Place - 2>(line), mask);
  out[3] = with_bits(out[3], moved<Place - 3>(line), mask);
  out[4] = with_bits(out[4], moved<Place - 4>(line), mask);
  out[5] = with_bits(out[5], moved<Place - 5>(line), mask);
  out[6] = with_bits(out[6], moved<Place - 6>(line), mask);
  out[7] = with_bits(out[7], moved<Place - 7>(line), mask);
}

// The upper two bits of six.
[[gnu::always_inline]] inline void add_two_bits(const std::byte* lines, __m256i (&out)[8]) {
  const __m256i mask = every_byte(0x30);
#pragma GCC unroll 2
  for (int64_t i = 0; i < 2; ++i) {
    const __m256i line = load_8_rows(lines + i * kLine);
    out[4 * i] = with_bits(out[4 * i], moved<4>(line), mask);
    out[4 * i + 1] = with_bits(out[4 * i + 1], moved<2>(line), mask);
    out[4 * i + 2] = with_bits(out[4 * i + 2], line, mask);
    out[4 * i + 3] = with_bits(out[4 * i + 3], moved<-2>(line), mask);
  }
}

// A table of 16 bytes by the low nibbles of `codes`.
[[gnu::always_inline]] inline void look_up(const uint8_t* table, const __m256i (&codes)[8],
                                           __m256i (&out)[8]) {
  const __m256i wide =
      _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table)));
#pragma GCC unroll 8
  for (int64_t i = 0; i < 8; ++i)
    out[i] = _mm256_shuffle_epi8(wide, codes[i]);
}

// What the codes of a packing are to the multipliers. Products of unsigned bytes by signed ones are
// added in pairs to words, which hold 16 of them for 4-bit codes. So codes are without sign, their
// offset is taken off through the sums of the inputs, and as many words are added as cannot
// overflow before they are widened. Codes of 8 bits are two planes of 4 bits, low and high, or
// words (group_words.h): by signs, or by nibbles of the inputs, they need more of the multipliers.
template <int Bits, int Offset, const int8_t* Levels = nullptr, int Largest = (1 << Bits) - 1>
struct Codes {
  static constexpr int64_t kRunBytes = kLine * Bits;
  static constexpr int kOffset = Offset;
  static constexpr int64_t kPlanes = Largest > 127 ? 2 : 1;
  static constexpr int kLargest = kPlanes == 2 ? 15 : Largest;
  // Steps of four columns that are added as words.
  static constexpr int64_t kSteps = kLargest <= 15   ? 8
                                    : kLargest <= 31 ? 4
                                    : kLargest <= 63 ? 2
                                                     : 1;
  static_assert(kLargest * 128 * 2 * kSteps <= 32767);

  // What a code of up to 4 bits stands for, without sign; as planes: one nibble of it.
  struct Table {
    uint8_t bytes[kPlanes][16];
    uint8_t whole[16];
  };
  static constexpr Table make_table() {
    Table table = {};
    for (int i = 0; i < 16; ++i) {
      const int level = (Levels == nullptr ? 0 : Levels[i]) + Offset;
      table.whole[i] = static_cast<uint8_t>(level);
      table.bytes[0][i] = static_cast<uint8_t>(kPlanes == 2 ? level & 0xF : level);
      if (kPlanes == 2) table.bytes[kPlanes - 1][i] = static_cast<uint8_t>(level >> 4);
    }
    return table;
  }
  static constexpr Table kTable = make_table();

  // Eight rows of a run.
  [[gnu::always_inline]] static void read(const std::byte* run, __m256i (&out)[kPlanes][8]) {
    if constexpr (Bits == 8) {
#pragma GCC unroll 8
      for (int64_t i = 0; i < 8; ++i) {
        const __m256i line = load_8_rows(run + i * kLine);
        out[0][i] = _mm256_and_si256(line, every_byte(0xF));
        out[1][i] = _mm256_and_si256(moved<-4>(line), every_byte(0xF));
      }
    } else if constexpr (Bits >= 4) {
      read_nibbles(run, out[0]);
    } else if constexpr (Bits >= 2) {
      read_two_bits(run, out[0]);
    } else {
#pragma GCC unroll 8
      for (int64_t i = 0; i < 8; ++i)
        out[0][i] = _mm256_setzero_si256();
      add_one_bit<0>(run, out[0]);
    }
    if constexpr (Bits == 3) add_one_bit<2>(run + 2 * kLine, out[0]);
    if constexpr (Bits == 5) add_one_bit<4>(run + 4 * kLine, out[0]);
    if constexpr (Bits == 6) add_two_bits(run + 4 * kLine, out[0]);
    if constexpr (Levels != nullptr) {
      if constexpr (kPlanes == 2) look_up(kTable.bytes[1], out[0], out[1]);
      look_up(kTable.bytes[0], out[0], out[0]);
    }
  }
  // The same of 4 and 8 bits, a level whole.
  static void read_levels(const std::byte* run, __m256i (&out)[8]) {
    static_assert(Bits == 8 || (Bits == 4 && Levels != nullptr));
    if constexpr (Bits == 8) {
      for (int64_t i = 0; i < 8; ++i)
        out[i] = load_8_rows(run + i * kLine);
    } else {
      read_nibbles(run, out);
      look_up(kTable.whole, out, out);
    }
  }
};

// Offsets are powers of two.
template <class Of>
inline __m256i times_offset(__m256i value) {
  constexpr int kShift = __builtin_ctz(static_cast<unsigned>(Of::kOffset));
  static_assert(1 << kShift == Of::kOffset);
  return _mm256_slli_epi32(value, kShift);
}

// The factor of the upper plane, from that of the lower.
inline __m256i upper_factor(__m256i factor) {
  return _mm256_slli_epi16(factor, 4);
}

inline __m256i broadcast_4_bytes(const void* from) {
  int32_t value;
  __builtin_memcpy(&value, from, sizeof(value));
  return _mm256_set1_epi32(value);
}

inline __m256 widen_halves(const void* from) {
  return _mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(from)));
}

// Keeps a sum in its register: compilers like to regroup whole-number additions into trees, whose
// leaves then spill.
inline void pin(__m256i& value) {
  asm("" : "+x"(value));
}

// totals[t] += factor * (codes by the inputs of token t), Columns of them from column `at` on. The
// words of `factor` are the row's, twice.
template <class Of, int64_t Columns, int64_t Tokens>
[[gnu::always_inline]] inline void add_products(const __m256i* codes,
                                                const int8_t* const (&x)[Tokens], int64_t at,
                                                __m256i factor, __m256i (&totals)[Tokens]) {
  constexpr int64_t kSteps = Of::kSteps < Columns / 4 ? Of::kSteps : Columns / 4;
  asm volatile("" : "+r"(at));  // or inputs that are used again are kept, on the stack
#pragma GCC unroll 8
  for (int64_t first = 0; first < Columns / 4; first += kSteps) {
    __m256i words[Tokens];
#pragma GCC unroll 8
    for (int64_t i = first; i < first + kSteps; ++i) {
#pragma GCC unroll 8
      for (int64_t t = 0; t < Tokens; ++t) {
        const __m256i pairs = _mm256_maddubs_epi16(codes[i], broadcast_4_bytes(x[t] + at + 4 * i));
        words[t] = i == first ? pairs : _mm256_add_epi16(words[t], pairs);
        if (i != first) pin(words[t]);
      }
    }
#pragma GCC unroll 8
    for (int64_t t = 0; t < Tokens; ++t) {
      totals[t] = _mm256_add_epi32(totals[t], _mm256_madd_epi16(words[t], factor));
      pin(totals[t]);
    }
  }
}

// Asks for bytes that will be read some microseconds later: a core's own prefetcher is not far
// enough ahead to hide the memory behind the arithmetic. Always inline, as calls of a function that
// does nothing else are taken for calls that do nothing.
template <int64_t Bytes>
[[gnu::always_inline]] inline void prefetch(const std::byte* from) {
#pragma GCC unroll 8
  for (int64_t i = 0; i < Bytes; i += kLine)
    _mm_prefetch(reinterpret_cast<const char*>(from + i), _MM_HINT_T1);
}

// Tokens whose sums of 16 rows fit the registers. Both halves of a line are then read together, and
// Zen 4's own prefetcher, which sees a plain stream, does best alone (as with AVX-512); one half
// after the other, it does not. Zen 5 is always asked for lines, early and into its first level.
inline constexpr int64_t kWideTokens = 2;
template <int64_t Bytes, bool IsWide>
[[gnu::always_inline]] inline void prefetch_stream(const std::byte* from, WeightsAhead ahead) {
  if (ahead == WeightsAhead::kFar) {
#pragma GCC unroll 8
    for (int64_t i = 0; i < Bytes; i += kLine)
      _mm_prefetch(reinterpret_cast<const char*>(from + kPrefetchBytes + i), _MM_HINT_T0);
  } else if (!IsWide || ahead == WeightsAhead::kTwoSteps) {
    prefetch<Bytes>(from);
  }
}
// Scales that are read in turn with the codes after them break the stream, unless their lines are
// asked for in order first.
template <int64_t Bytes>
[[gnu::always_inline]] inline void begin_stream(const std::byte* scales) {
#pragma GCC unroll 8
  for (int64_t i = 0; i < Bytes; i += kLine)
    _mm_prefetch(reinterpret_cast<const char*>(scales + i), _MM_HINT_T0);
}

// 256 columns of a panel, unpacked.
template <class Of>
struct alignas(64) CodeTile {
  __m256i codes[Of::kPlanes][64][2];  // [four columns][half of the rows]

  void fill(const std::byte* first_run, int64_t runs) {
    for (int64_t r = 0; r < runs; ++r) {
      prefetch<Of::kRunBytes>(first_run + (8 + r) * Of::kRunBytes);
      for (int64_t half = 0; half < 2; ++half) {
        __m256i run[Of::kPlanes][8];
        Of::read(first_run + r * Of::kRunBytes + half * kHalfLine, run);
#pragma GCC unroll 2
        for (int64_t plane = 0; plane < Of::kPlanes; ++plane)
#pragma GCC unroll 8
          for (int64_t i = 0; i < 8; ++i)
            codes[plane][r * 8 + i][half] = run[plane][i];
      }
    }
  }

  // totals[half][t] += factors[plane][half] * ..., as add_products.
  template <int64_t Columns, int64_t Tokens>
  [[gnu::always_inline]] void add(int64_t at, const int8_t* const (&x)[Tokens],
                                  const __m256i (*factors)[2], __m256i (&totals)[2][Tokens]) const {
    constexpr int64_t kSteps = Of::kSteps < Columns / 4 ? Of::kSteps : Columns / 4;
#pragma GCC unroll 2
    for (int64_t plane = 0; plane < Of::kPlanes; ++plane) {
      asm volatile("" : "+r"(at));  // as above
      const auto* from = codes[plane] + at / 4;
#pragma GCC unroll 8
      for (int64_t first = 0; first < Columns / 4; first += kSteps) {
        __m256i words[2][Tokens];
#pragma GCC unroll 8
        for (int64_t i = first; i < first + kSteps; ++i) {
#pragma GCC unroll 4
          for (int64_t t = 0; t < Tokens; ++t) {
            const __m256i four = broadcast_4_bytes(x[t] + at + 4 * i);
#pragma GCC unroll 2
            for (int64_t h = 0; h < 2; ++h) {
              const __m256i pairs = _mm256_maddubs_epi16(from[i][h], four);
              words[h][t] = i == first ? pairs : _mm256_add_epi16(words[h][t], pairs);
              if (i != first) pin(words[h][t]);
            }
          }
        }
#pragma GCC unroll 2
        for (int64_t h = 0; h < 2; ++h)
#pragma GCC unroll 4
          for (int64_t t = 0; t < Tokens; ++t) {
            totals[h][t] =
                _mm256_add_epi32(totals[h][t], _mm256_madd_epi16(words[h][t], factors[plane][h]));
            pin(totals[h][t]);
          }
      }
    }
  }
};

}  // namespace
}  // namespace ingot::cpu
