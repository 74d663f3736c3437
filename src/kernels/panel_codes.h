// SPDX-License-Identifier: Apache-2.0
// One row of a quantized block as plain codes and scales: what the packer reads from each layout
// before it spreads the codes over a panel's planes. Codes are without sign: what a scheme takes
// from them is in PackingInfo. Plain loops over whole vectors' worth of bytes, of which the
// compiler makes vector code. In an anonymous namespace on purpose: it is built once for each
// target, GPUs among them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/target_code.h"
#include "blocks/iq4_nl.h"
#include "blocks/iq4_xs.h"
#include "blocks/mxfp4.h"
#include "blocks/nvfp4.h"
#include "blocks/q1_0.h"
#include "blocks/q2_0.h"
#include "blocks/q2_k.h"
#include "blocks/q3_k.h"
#include "blocks/q4_0.h"
#include "blocks/q4_1.h"
#include "blocks/q4_k.h"
#include "blocks/q5_0.h"
#include "blocks/q5_1.h"
#include "blocks/q5_k.h"
#include "blocks/q6_k.h"
#include "blocks/q8_0.h"
#include "blocks/tq1_0.h"
#include "blocks/tq2_0.h"
#include "kernels/panel_words.h"

namespace ingot {
namespace {

struct GroupCodes {    // 32 columns
  uint16_t scale = 0;  // the file's own bits; for ScaleForm::kPairs two bytes, the first in the low
  uint16_t min = 0;
  alignas(8) uint8_t codes[32];
};

struct BlockCodes {  // 256 columns
  uint16_t scale = 0;
  uint16_t min_scale = 0;
  uint8_t scales[16];  // one per group of 16 or of 32 columns (then the first eight)
  uint8_t mins[16] = {};
  alignas(8) uint8_t codes[256];
};

INGOT_TARGET_CODE inline uint8_t byte(int value) {
  return static_cast<uint8_t>(value);
}

// 32 codes of 16 bytes: low nibbles first.
INGOT_TARGET_CODE inline void read_nibbles(const uint8_t* from, uint8_t* out) {
  for (int i = 0; i < 16; ++i) {
    out[i] = from[i] & 0xF;
    out[16 + i] = byte(from[i] >> 4);
  }
}

INGOT_TARGET_CODE inline void add_high_bits(const uint8_t (&bits)[4], uint8_t* codes) {
  for (int i = 0; i < 32; ++i)
    codes[i] = byte(codes[i] | (((bits[i / 8] >> (i % 8)) & 1) << 4));
}

// The 6-bit scales and mins of Q4_K and Q5_K: the first four in the low six bits of bytes 0-3 and
// 4-7; of the last four the low nibbles are in bytes 8-11, the top bits in 0-7.
INGOT_TARGET_CODE inline void read_scales(const uint8_t (&packed)[12], BlockCodes& out) {
  for (int i = 0; i < 4; ++i) {
    out.scales[i] = packed[i] & 63;
    out.mins[i] = packed[i + 4] & 63;
    out.scales[i + 4] = byte((packed[i + 8] & 0xF) | (packed[i] >> 6 << 4));
    out.mins[i + 4] = byte((packed[i + 8] >> 4) | (packed[i + 4] >> 6 << 4));
  }
}

[[maybe_unused]] INGOT_TARGET_CODE inline void read_codes(const Q4_0& block, GroupCodes& out) {
  out.scale = block.scale.bits;
  read_nibbles(block.codes, out.codes);
}
[[maybe_unused]] INGOT_TARGET_CODE inline void read_codes(const Q4_1& block, GroupCodes& out) {
  out.scale = block.scale.bits;
  out.min = block.min.bits;
  read_nibbles(block.codes, out.codes);
}
[[maybe_unused]] INGOT_TARGET_CODE inline void read_codes(const Q5_0& block, GroupCodes& out) {
  out.scale = block.scale.bits;
  read_nibbles(block.codes, out.codes);
  add_high_bits(block.high_bits, out.codes);
}
[[maybe_unused]] INGOT_TARGET_CODE inline void read_codes(const Q5_1& block, GroupCodes& out) {
  out.scale = block.scale.bits;
  out.min = block.min.bits;
  read_nibbles(block.codes, out.codes);
  add_high_bits(block.high_bits, out.codes);
}
[[maybe_unused]] INGOT_TARGET_CODE inline void read_codes(const Q8_0& block, GroupCodes& out) {
  out.scale = block.scale.bits;
  for (int i = 0; i < 32; ++i)
    out.codes[i] = byte(block.codes[i] ^ 0x80);
}
[[maybe_unused]] INGOT_TARGET_CODE inline void read_codes(const IQ4_NL& block, GroupCodes& out) {
  out.scale = block.scale.bits;
  read_nibbles(block.codes, out.codes);
}
[[maybe_unused]] INGOT_TARGET_CODE inline void read_codes(const MXFP4& block, GroupCodes& out) {
  out.scale = block.scale.bits;
  read_nibbles(block.codes, out.codes);
}

// Blocks of several groups: group `part` of 32 columns.
[[maybe_unused]] INGOT_TARGET_CODE inline void read_codes(const Q1_0& block, int64_t part,
                                                          GroupCodes& out) {
  out.scale = block.scale.bits;
  for (int64_t i = 0; i < 32; ++i)
    out.codes[i] = byte((block.codes[part * 4 + i / 8] >> (i % 8)) & 1);
}
[[maybe_unused]] INGOT_TARGET_CODE inline void read_codes(const Q2_0& block, int64_t part,
                                                          GroupCodes& out) {
  out.scale = block.scale.bits;
  for (int64_t i = 0; i < 32; ++i)
    out.codes[i] = byte((block.codes[part * 8 + i / 4] >> (2 * (i % 4))) & 3);
}
// Of 8 bits without sign; the one that GGML reads as zero becomes it.
INGOT_TARGET_CODE inline int scale_byte(Float8E4M3 scale) {
  return scale.bits == 0x7F ? 0 : scale.bits & 0x7F;
}
[[maybe_unused]] INGOT_TARGET_CODE inline void read_codes(const NVFP4& block, int64_t part,
                                                          GroupCodes& out) {
  out.scale = static_cast<uint16_t>(scale_byte(block.group_scales[2 * part]) |
                                    (scale_byte(block.group_scales[2 * part + 1]) << 8));
  const uint8_t* from = block.codes + part * 16;
  for (int i = 0; i < 8; ++i) {
    out.codes[i] = from[i] & 0xF;
    out.codes[8 + i] = byte(from[i] >> 4);
    out.codes[16 + i] = from[8 + i] & 0xF;
    out.codes[24 + i] = byte(from[8 + i] >> 4);
  }
}

// Digit n of N bytes of base-3 digits: what lies before it is multiplied away, the next is the
// carry.
template <int N>
INGOT_TARGET_CODE void read_digit(const uint8_t* from, int power, uint8_t* out) {
  for (int i = 0; i < N; ++i)
    out[i] = byte((byte(from[i] * power) * 3) >> 8);
}
[[maybe_unused]] INGOT_TARGET_CODE inline void read_codes(const TQ1_0& block, BlockCodes& out) {
  out.scale = block.scale.bits;
  for (int n = 0, power = 1; n < 5; ++n, power *= 3) {
    read_digit<32>(block.fives, power, out.codes + 32 * n);
    read_digit<16>(block.fives + 32, power, out.codes + 160 + 16 * n);
    if (n < 4) read_digit<4>(block.fours, power, out.codes + 240 + 4 * n);
  }
}

// What the codes of 256 columns are multiplied by; the codes themselves are read as words
// (panel_words.h), of several rows at a time where that pays.
[[maybe_unused]] INGOT_TARGET_CODE inline void read_factors(const TQ2_0& block, BlockCodes& out) {
  out.scale = block.scale.bits;
}
[[maybe_unused]] INGOT_TARGET_CODE inline void read_factors(const Q2_K& block, BlockCodes& out) {
  out.scale = block.scale.bits;
  out.min_scale = block.min_scale.bits;
  for (int i = 0; i < 16; ++i) {
    out.scales[i] = block.group_scales[i] & 0xF;
    out.mins[i] = byte(block.group_scales[i] >> 4);
  }
}
[[maybe_unused]] INGOT_TARGET_CODE inline void read_factors(const Q3_K& block, BlockCodes& out) {
  out.scale = block.scale.bits;
  for (int i = 0; i < 16; ++i) {
    const int low = (block.group_scales[i % 8] >> (i / 8 * 4)) & 0xF;
    const int high = (block.group_scales[8 + i % 4] >> (i / 4 * 2)) & 3;
    out.scales[i] = byte((low | (high << 4)) - 32);
  }
}
[[maybe_unused]] INGOT_TARGET_CODE inline void read_factors(const Q4_K& block, BlockCodes& out) {
  out.scale = block.scale.bits;
  out.min_scale = block.min_scale.bits;
  read_scales(block.group_scales, out);
}
[[maybe_unused]] INGOT_TARGET_CODE inline void read_factors(const Q5_K& block, BlockCodes& out) {
  out.scale = block.scale.bits;
  out.min_scale = block.min_scale.bits;
  read_scales(block.group_scales, out);
}
[[maybe_unused]] INGOT_TARGET_CODE inline void read_factors(const Q6_K& block, BlockCodes& out) {
  out.scale = block.scale.bits;
  for (int i = 0; i < 16; ++i)
    out.scales[i] = byte(block.group_scales[i]);
}
[[maybe_unused]] INGOT_TARGET_CODE inline void read_factors(const IQ4_XS& block, BlockCodes& out) {
  out.scale = block.scale.bits;
  for (int i = 0; i < 8; ++i) {
    const int low = (block.scales_low[i / 2] >> (i % 2 * 4)) & 0xF;
    const int high = (block.scales_high >> (i * 2)) & 3;
    out.scales[i] = byte((low | (high << 4)) - 32);
  }
}

template <class Block>
requires requires {
  BlockWords<Block>::kWords;
}
INGOT_TARGET_CODE void read_codes(const Block& block, BlockCodes& out) {
  using Words = BlockWords<Block>;
  read_factors(block, out);
  uint32_t in[Words::kWords];
  std::memcpy(in, reinterpret_cast<const std::byte*>(&block) + Words::kAt, sizeof(in));
  uint32_t words[kBlockWords];
  Words::read(in, words);
  std::memcpy(out.codes, words, sizeof(words));
}

}  // namespace
}  // namespace ingot
