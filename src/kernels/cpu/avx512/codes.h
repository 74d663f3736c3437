// SPDX-License-Identifier: Apache-2.0
// From the planes of a panel to bytes: a run of 32 columns becomes eight registers, each 16 rows by
// 4 columns, of codes without sign. In an anonymous namespace on purpose: each file gets its own
// copy, so that nothing built with these flags can become the linker's copy for all.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"

namespace ingot::cpu {
namespace {

inline constexpr int64_t kLine = 64;

// The dot instructions as they are: around the compiler's own functions for them GCC copies sums
// from register to register, or keeps them in memory.
inline __m512i dot_bytes(__m512i sum, __m512i codes, __m512i inputs) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(codes), "v"(inputs));
  return sum;
}
inline __m512i dot_words(__m512i sum, __m512i a, __m512i b) {
  asm("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
  return sum;
}
// A value that is loaded once, not anew for each use.
inline __m512i in_register(__m512i value) {
  asm("" : "+v"(value));
  return value;
}

inline __m512i load_line(const std::byte* from) {
  return _mm512_loadu_si512(from);
}
inline __m512i every_byte(int value) {
  return _mm512_set1_epi8(static_cast<char>(value));
}
// Bits of every byte moved up (down: negative); those of a neighbour may come with them.
template <int Places>
inline __m512i moved(__m512i bytes) {
  if constexpr (Places == 0) return bytes;
  if constexpr (Places > 0) return _mm512_slli_epi16(bytes, static_cast<unsigned>(Places));
  return _mm512_srli_epi16(bytes, static_cast<unsigned>(-Places));
}
// codes | (bits & mask)
inline __m512i with_bits(__m512i codes, __m512i bits, __m512i mask) {
  return _mm512_ternarylogic_epi32(codes, bits, mask, 0xF8);
}

inline void read_nibbles(const std::byte* run, __m512i (&out)[8]) {
  const __m512i mask = every_byte(0xF);
#pragma GCC unroll 4
  for (int64_t i = 0; i < 4; ++i) {
    const __m512i line = load_line(run + i * kLine);
    out[2 * i] = _mm512_and_si512(line, mask);
    out[2 * i + 1] = _mm512_and_si512(moved<-4>(line), mask);
  }
}

inline void read_two_bits(const std::byte* run, __m512i (&out)[8]) {
  const __m512i mask = every_byte(3);
#pragma GCC unroll 2
  for (int64_t i = 0; i < 2; ++i) {
    const __m512i line = load_line(run + i * kLine);
    out[4 * i] = _mm512_and_si512(line, mask);
    out[4 * i + 1] = _mm512_and_si512(moved<-2>(line), mask);
    out[4 * i + 2] = _mm512_and_si512(moved<-4>(line), mask);
    out[4 * i + 3] = _mm512_and_si512(moved<-6>(line), mask);
  }
}

// One bit per code, into bit `Place`.
template <int Place>
inline void add_one_bit(const std::byte* at, __m512i (&out)[8]) {
  const __m512i line = load_line(at);
  const __m512i mask = every_byte(1 << Place);
  out[0] = with_bits(out[0], moved<Place>(line), mask);
  out[1] = with_bits(out[1], moved<Place - 1>(line), mask);
  out[2] = with_bits(out[2], moved<Place - 2>(line), mask);
  out[3] = with_bits(out[3], moved<Place - 3>(line), mask);
  out[4] = with_bits(out[4], moved<Place - 4>(line), mask);
  out[5] = with_bits(out[5], moved<Place - 5>(line), mask);
  out[6] = with_bits(out[6], moved<Place - 6>(line), mask);
  out[7] = with_bits(out[7], moved<Place - 7>(line), mask);
}

template <int Bits>
inline void read_run(const std::byte* run, __m512i (&out)[8]) {
  if constexpr (Bits == 8) {
#pragma GCC unroll 8
    for (int64_t i = 0; i < 8; ++i)
      out[i] = load_line(run + i * kLine);
  } else if constexpr (Bits >= 4) {
    read_nibbles(run, out);
  } else if constexpr (Bits >= 2) {
    read_two_bits(run, out);
  } else {
#pragma GCC unroll 8
    for (int64_t i = 0; i < 8; ++i)
      out[i] = _mm512_setzero_si512();
    add_one_bit<0>(run, out);
  }
  if constexpr (Bits == 3) add_one_bit<2>(run + 2 * kLine, out);
  if constexpr (Bits == 5) add_one_bit<4>(run + 4 * kLine, out);
  if constexpr (Bits == 6) {
    const __m512i mask = every_byte(0x30);
#pragma GCC unroll 2
    for (int64_t i = 0; i < 2; ++i) {
      const __m512i line = load_line(run + (4 + i) * kLine);
      out[4 * i] = with_bits(out[4 * i], moved<4>(line), mask);
      out[4 * i + 1] = with_bits(out[4 * i + 1], moved<2>(line), mask);
      out[4 * i + 2] = with_bits(out[4 * i + 2], line, mask);
      out[4 * i + 3] = with_bits(out[4 * i + 3], moved<-2>(line), mask);
    }
  }
}

// Codes of up to 4 bits to what they stand for, plus `offset` to be without sign.
inline void look_up(const int8_t* levels, int offset, __m512i (&codes)[8]) {
  const __m128i table = _mm_add_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(levels)),
                                     _mm_set1_epi8(static_cast<char>(offset)));
  const __m512i wide = _mm512_broadcast_i32x4(table);
#pragma GCC unroll 8
  for (int64_t i = 0; i < 8; ++i)
    codes[i] = _mm512_shuffle_epi8(wide, codes[i]);
}

// Asks for what comes 4 KB later, for the second level: the first is full of inputs. With one or
// two tokens Zen 4's own prefetcher sees a plain stream and does best alone; Intel's falls behind,
// and asking, in two steps, gains 40 %. With more the arithmetic between two lines is long enough
// to starve any. Zen 5 computes so fast that its own brings 57 % of what memory gives; asked for
// farther ahead, into its larger first level, nearly all of it. Long runs are asked for line by
// line, in a loop that stays one, and 6 KB ahead: six requests at once, and the loads behind them
// wait (Q6_K 0.93 and 0.96 of a plain read); short ones at once and 7 KB ahead. Always inlined: by
// itself it has no effect that the compiler would keep.
template <int64_t Tokens, int64_t RunBytes>
[[gnu::always_inline]] inline void prefetch_run(const std::byte* run, int64_t bytes,
                                                WeightsAhead ahead) {
  const auto* at = reinterpret_cast<const char*>(run);
  if (ahead == WeightsAhead::kFar) {
    if constexpr (RunBytes >= 6 * kLine) {
#pragma GCC unroll 1
      for (int64_t i = 0; i < bytes; i += kLine)
        _mm_prefetch(at + 6144 + i, _MM_HINT_T0);
    } else {
      for (int64_t i = 0; i < bytes; i += kLine)
        _mm_prefetch(at + 7168 + i, _MM_HINT_T0);
    }
  } else if (Tokens >= 3) {
    for (int64_t i = 0; i < bytes; i += kLine)
      _mm_prefetch(at + 4096 + i, _MM_HINT_T1);
  } else if (ahead == WeightsAhead::kTwoSteps) {
    for (int64_t i = 0; i < bytes; i += kLine) {
      _mm_prefetch(at + 12288 + i, _MM_HINT_T1);
      _mm_prefetch(at + 3072 + i, _MM_HINT_T0);
    }
  }
}

// The scales of a block, copied in order before its codes are read. Read where they are needed,
// between runs of codes behind them, they keep the processor from seeing a stream: whole lines of
// them leave a third of what memory gives, and half lines still cost Q8_0 3 %.
template <int64_t Bytes>
struct alignas(kLine) ScaleLines {
  static_assert(Bytes % kLine == 0);
  std::byte bytes[Bytes];

  explicit ScaleLines(const std::byte* from) {
#pragma GCC unroll 8
    for (int64_t i = 0; i < Bytes; i += kLine)
      _mm512_store_si512(bytes + i, in_register(load_line(from + i)));
  }
};

inline __m512i broadcast_4_bytes(const void* from) {
  int32_t value;
  __builtin_memcpy(&value, from, sizeof(value));
  return _mm512_set1_epi32(value);
}

inline __m512 widen_halves(const void* from) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(from)));
}

}  // namespace
}  // namespace ingot::cpu
