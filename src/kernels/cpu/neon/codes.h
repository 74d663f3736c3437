// SPDX-License-Identifier: Apache-2.0
// From the planes of a panel to bytes, a quarter (4 rows) at a time: a run of 32 columns becomes
// eight registers, each 4 rows by 4 columns, of what the codes stand for or of codes without sign
// below 64. In an anonymous namespace on purpose: each file gets its own copy, so that nothing
// built with these flags can become the linker's copy for all.
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

namespace ingot::cpu {
namespace {

inline constexpr int64_t kLine = 64;     // bytes: 16 rows by 4 columns
inline constexpr int64_t kQuarters = 4;  // of a line, 16 bytes each

inline uint8x16_t load_quarter(const std::byte* from) {
  return vld1q_u8(reinterpret_cast<const uint8_t*>(from));
}
// Bits of every byte moved up (down: negative).
template <int Places>
inline uint8x16_t moved(uint8x16_t bytes) {
  if constexpr (Places == 0) return bytes;
  if constexpr (Places > 0) return vshlq_n_u8(bytes, Places);
  if constexpr (Places < 0) return vshrq_n_u8(bytes, -Places);
}
// The codes with those of their bits that `mask` names taken from `bits`.
inline uint8x16_t with_bits(uint8x16_t codes, uint8x16_t bits, int mask) {
  return vbslq_u8(vdupq_n_u8(static_cast<uint8_t>(mask)), bits, codes);
}

inline void read_nibbles(const std::byte* run, uint8x16_t (&out)[8]) {
  for (int64_t i = 0; i < 4; ++i) {
    const uint8x16_t line = load_quarter(run + i * kLine);
    out[2 * i] = vandq_u8(line, vdupq_n_u8(0xF));
    out[2 * i + 1] = moved<-4>(line);
  }
}

inline void read_two_bits(const std::byte* run, uint8x16_t (&out)[8]) {
  const uint8x16_t mask = vdupq_n_u8(3);
  for (int64_t i = 0; i < 2; ++i) {
    const uint8x16_t line = load_quarter(run + i * kLine);
    out[4 * i] = vandq_u8(line, mask);
    out[4 * i + 1] = vandq_u8(moved<-2>(line), mask);
    out[4 * i + 2] = vandq_u8(moved<-4>(line), mask);
    out[4 * i + 3] = moved<-6>(line);
  }
}

// One bit per code, into bit `Place`.
template <int Place>
inline void add_one_bit(const std::byte* at, uint8x16_t (&out)[8]) {
  const uint8x16_t line = load_quarter(at);
  out[0] = with_bits(out[0], moved<Place>(line), 1 << Place);
  out[1] = with_bits(out[1], moved<Place - 1>(line), 1 << Place);
  out[2] = with_bits(out[2], moved<Place - 2>(line), 1 << Place);
  out[3] = with_bits(out[3], moved<Place - 3>(line), 1 << Place);
  out[4] = with_bits(out[4], moved<Place - 4>(line), 1 << Place);
  out[5] = with_bits(out[5], moved<Place - 5>(line), 1 << Place);
  out[6] = with_bits(out[6], moved<Place - 6>(line), 1 << Place);
  out[7] = with_bits(out[7], moved<Place - 7>(line), 1 << Place);
}

inline void add_two_bits(const std::byte* at, uint8x16_t (&out)[8]) {
  for (int64_t i = 0; i < 2; ++i) {
    const uint8x16_t line = load_quarter(at + i * kLine);
    out[4 * i] = with_bits(out[4 * i], moved<4>(line), 0x30);
    out[4 * i + 1] = with_bits(out[4 * i + 1], moved<2>(line), 0x30);
    out[4 * i + 2] = with_bits(out[4 * i + 2], line, 0x30);
    out[4 * i + 3] = with_bits(out[4 * i + 3], moved<-2>(line), 0x30);
  }
}

// `quarter` points at its first bytes in the run. Codes of 8 bits lose their 128 here, codes with
// levels become these; the others stay as they are.
template <int Bits, const int8_t* Levels>
inline void read_quarter(const std::byte* quarter, int8x16_t (&out)[8]) {
  uint8x16_t codes[8];
  if constexpr (Bits == 8) {
    for (int64_t i = 0; i < 8; ++i)
      codes[i] = veorq_u8(load_quarter(quarter + i * kLine), vdupq_n_u8(0x80));
  } else if constexpr (Bits >= 4) {
    read_nibbles(quarter, codes);
  } else if constexpr (Bits >= 2) {
    read_two_bits(quarter, codes);
  } else {
    for (uint8x16_t& code : codes)
      code = vdupq_n_u8(0);
    add_one_bit<0>(quarter, codes);
  }
  if constexpr (Bits == 3) add_one_bit<2>(quarter + 2 * kLine, codes);
  if constexpr (Bits == 5) add_one_bit<4>(quarter + 4 * kLine, codes);
  if constexpr (Bits == 6) add_two_bits(quarter + 4 * kLine, codes);
  for (int64_t i = 0; i < 8; ++i) {
    if constexpr (Levels != nullptr) {
      out[i] = vqtbl1q_s8(vld1q_s8(Levels), codes[i]);
    } else {
      out[i] = vreinterpretq_s8_u8(codes[i]);
    }
  }
}

// Four registers of 4 rows by 4 columns each, times the 16 inputs.
inline int32x4_t dot_16(int32x4_t sum, const int8x16_t* codes, int8x16_t x) {
  sum = vdotq_laneq_s32(sum, codes[0], x, 0);
  sum = vdotq_laneq_s32(sum, codes[1], x, 1);
  sum = vdotq_laneq_s32(sum, codes[2], x, 2);
  return vdotq_laneq_s32(sum, codes[3], x, 3);
}

// Four halves.
inline float32x4_t widen_halves(const void* from) {
  return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(static_cast<const uint16_t*>(from))));
}

}  // namespace
}  // namespace ingot::cpu
