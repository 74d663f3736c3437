// SPDX-License-Identifier: Apache-2.0
// Codes of the IQ blocks whose rows are entries of a table: what panel_codes.h is for the others.
// An entry is eight (or four) small values, one per byte, so a row's codes are made of a whole word
// at once. Codes as the tables of code_levels.h have them; scales n, which stand for 2n + 1. In an
// anonymous namespace on purpose: it is built once for each target, GPUs among them, which have
// their own tables.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/target_code.h"
#include "blocks/iq1_m.h"
#include "blocks/iq1_s.h"
#include "blocks/iq2_s.h"
#include "blocks/iq2_xs.h"
#include "blocks/iq2_xxs.h"
#include "blocks/iq3_s.h"
#include "blocks/iq3_xxs.h"
#include "kernels/panel_codes.h"
#ifdef __CUDACC__
#include "kernels/cuda/iq_grids.cuh"
#else
#include "blocks/iq_grids.h"
#endif

namespace ingot {
namespace {

constexpr uint64_t kEveryByte = 0x0101010101010101u;

// Bit i of `bits` as the lowest of byte i.
INGOT_TARGET_CODE inline uint64_t spread(uint32_t bits) {
  const uint64_t kept = (bits * kEveryByte) & 0x8040201008040201u;
  // Adding 0x7F carries into a byte's top bit unless the byte is zero.
  return ((kept + 0x7F * kEveryByte) >> 7) & kEveryByte;
}
// Seven signs to eight, of which an even number is set.
INGOT_TARGET_CODE inline uint32_t all_signs(uint32_t seven) {
  const uint32_t halves = (seven ^ (seven >> 4)) & 0xF;
  return seven | (((0x6996u >> halves) & 1) << 7);  // a bit for each nibble: whether it is odd
}
INGOT_TARGET_CODE inline void put_codes(uint64_t codes, uint8_t* out) {
  std::memcpy(out, &codes, sizeof(codes));
}

// {8, 25, 43}: what is above the low nibble counts them.
INGOT_TARGET_CODE inline void put_iq2(uint64_t entry, uint32_t signs, uint8_t* out) {
  put_codes(((entry >> 4) & 3 * kEveryByte) | (spread(signs) << 2), out);
}
// Two entries of four magnitudes; bits of them above `shift` count the levels.
INGOT_TARGET_CODE inline void put_iq3(uint32_t first, uint32_t second, int shift, uint32_t signs,
                                      uint8_t* out) {
  const uint64_t both = first | (static_cast<uint64_t>(second) << 32);
  put_codes(((both >> shift) & 7 * kEveryByte) | (spread(signs) << 3), out);
}
// {-1, 0, 1} plus one. Of each byte only the low bits, so that none carries into the next.
INGOT_TARGET_CODE inline uint64_t ternary(uint64_t entry) {
  return ((entry & 3 * kEveryByte) + kEveryByte) & 3 * kEveryByte;
}

[[maybe_unused]] INGOT_TARGET_CODE inline void read_codes(const IQ1_S& block, BlockCodes& out) {
  out.scale = block.scale.bits;
  for (uint32_t g = 0; g < 8; ++g) {
    const uint32_t group = block.groups[g];
    out.scales[g] = byte(static_cast<int>(group >> 12));  // the sign of the shift on top
    for (uint32_t r = 0; r < 4; ++r) {
      const uint32_t index = block.codes[4 * g + r] | (((group >> (3 * r)) & 7) << 8);
      put_codes(ternary(kIq1Grid.rows[index]), out.codes + 32 * g + 8 * r);
    }
  }
}

[[maybe_unused]] INGOT_TARGET_CODE inline void read_codes(const IQ1_M& block, BlockCodes& out) {
  for (int k = 0; k < 4; ++k)
    out.scale = static_cast<uint16_t>(out.scale | (block.group_scales[k] >> 12 << (4 * k)));
  for (int g = 0; g < 16; ++g)
    out.scales[g] = byte((block.group_scales[g / 4] >> (3 * (g % 4))) & 7);
  for (uint32_t r = 0; r < 32; ++r) {
    const uint32_t nibble = (block.high_bits[r / 2] >> (4 * (r % 2))) & 0xFu;
    const uint64_t entry = kIq1Grid.rows[block.codes[r] | ((nibble & 7) << 8)];
    put_codes(ternary(entry) | ((nibble >> 3) * 4 * kEveryByte), out.codes + 8 * r);
  }
}

[[maybe_unused]] INGOT_TARGET_CODE inline void read_codes(const IQ2_XXS& block, BlockCodes& out) {
  out.scale = block.scale.bits;
  for (uint32_t g = 0; g < 8; ++g) {
    uint32_t word;
    std::memcpy(&word, block.groups[g] + 4, sizeof(word));
    out.scales[2 * g] = out.scales[2 * g + 1] = static_cast<uint8_t>(word >> 28);
    for (uint32_t r = 0; r < 4; ++r)
      put_iq2(kIq2XxsGrid.rows[block.groups[g][r]], all_signs((word >> (7 * r)) & 0x7F),
              out.codes + 32 * g + 8 * r);
  }
}

// A nibble for each 16 columns, or 32, the low one first.
template <int Count>
INGOT_TARGET_CODE void read_nibble_scales(const uint8_t (&from)[Count], BlockCodes& out) {
  for (int i = 0; i < Count; ++i) {
    out.scales[2 * i] = from[i] & 0xF;
    out.scales[2 * i + 1] = byte(from[i] >> 4);
  }
}

[[maybe_unused]] INGOT_TARGET_CODE inline void read_codes(const IQ2_XS& block, BlockCodes& out) {
  out.scale = block.scale.bits;
  read_nibble_scales(block.group_scales, out);
  for (uint32_t r = 0; r < 32; ++r) {
    const uint32_t row = block.rows[r];
    put_iq2(kIq2XsGrid.rows[row & 0x1FF], all_signs(row >> 9), out.codes + 8 * r);
  }
}

[[maybe_unused]] INGOT_TARGET_CODE inline void read_codes(const IQ2_S& block, BlockCodes& out) {
  out.scale = block.scale.bits;
  read_nibble_scales(block.group_scales, out);
  for (uint32_t r = 0; r < 32; ++r) {
    const uint32_t high = (block.high_bits[r / 4] >> (2 * (r % 4))) & 3u;
    put_iq2(kIq2SGrid.rows[block.codes[r] | (high << 8)], block.signs[r], out.codes + 8 * r);
  }
}

[[maybe_unused]] INGOT_TARGET_CODE inline void read_codes(const IQ3_XXS& block, BlockCodes& out) {
  out.scale = block.scale.bits;
  for (uint32_t g = 0; g < 8; ++g) {
    uint32_t word;
    std::memcpy(&word, block.groups[g], sizeof(word));
    out.scales[g] = static_cast<uint8_t>(word >> 28);
    for (uint32_t r = 0; r < 4; ++r) {
      const uint8_t* codes = block.codes + 8 * g + 2 * r;
      put_iq3(kIq3XxsGrid.rows[codes[0]], kIq3XxsGrid.rows[codes[1]], 3,
              all_signs((word >> (7 * r)) & 0x7F), out.codes + 32 * g + 8 * r);
    }
  }
}

[[maybe_unused]] INGOT_TARGET_CODE inline void read_codes(const IQ3_S& block, BlockCodes& out) {
  out.scale = block.scale.bits;
  read_nibble_scales(block.group_scales, out);
  for (uint32_t r = 0; r < 32; ++r) {
    const uint8_t* codes = block.codes + 2 * r;
    const uint32_t high = static_cast<uint32_t>(block.high_bits[r / 4]) >> (2 * (r % 4));
    put_iq3(kIq3SGrid.rows[codes[0] | ((high & 1) << 8)],
            kIq3SGrid.rows[codes[1] | ((high & 2) << 7)], 1, block.signs[r], out.codes + 8 * r);
  }
}

}  // namespace
}  // namespace ingot
