// SPDX-License-Identifier: Apache-2.0
// Codes and whole scales of two neighbouring rows of a panel, 2g and 2g + 1, which lie side by side
// and are read together.
#pragma once

#include "kernels/cuda/panel_codes.cuh"
#include "kernels/cuda/panel_scales.cuh"

namespace ingot::cuda {

// Codes of rows 2g and 2g + 1. Of 8 bits, lanes have columns 4t and 4t + 16 instead of 8t and
// 8t + 4: shared memory is then read from more banks.
template <class Codes, int kBits>
__device__ inline void load_two_rows(const std::byte* run, int g, int t, Codes (&codes)[2]) {
  const auto* pairs = reinterpret_cast<const uint2*>(run) + g;  // a line of 16 rows has 8
  int word = 0;
  const auto take = [&](int line) {
    const uint2 both = pairs[8 * line];
    codes[0].words[word] = both.x;
    codes[1].words[word] = both.y;
    ++word;
  };
  if constexpr (kBits == 8) {
    take(t);
    take(t + 4);
    return;
  }
  int first = 0;
  if constexpr (Codes::kHasFour) {
    take(t);
    first = 4;
  }
  if constexpr (Codes::kHasTwo) {
    take(first + t / 2);
    first += 2;
  }
  if constexpr (Codes::kHasOne) take(first);
}

// Whole scales (and minima) of a block for rows 2g and 2g + 1: of the groups of one run where they
// are half a run, else of two neighbouring runs. `line` is the pair's.
template <Packing kPacking>
struct PairScales {
  int whole[2][2];  // [row][group]
  uint32_t mins;    // bytes: row 2g's two, row 2g + 1's two

  __device__ void load(const std::byte* block, int line, int g) {
    mins = 0;
    if constexpr (kPacking == Packing::kBlocks2) {
      whole[0][0] = whole[0][1] = whole[1][0] = whole[1][1] = 1;
    } else if constexpr (kPacking == Packing::kBlocks4Min || kPacking == Packing::kBlocks5Min) {
      set(load_as<uint32_t>(block + offsetof(BlockScales32, group_scales) + 32 * line + 4 * g));
      mins = load_as<uint32_t>(block + offsetof(BlockScales32, group_mins) + 32 * line + 4 * g);
    } else if constexpr (kPacking == Packing::kBlocks2Min) {
      const auto four =
          load_as<uint32_t>(block + offsetof(BlockScales4, group_scales) + 32 * line + 4 * g);
      set(four & 0x0F0F0F0F);
      mins = (four >> 4) & 0x0F0F0F0F;
    } else if constexpr (kPacking == Packing::kBlocks3 || kPacking == Packing::kBlocks6) {
      set_signed(
          load_as<uint32_t>(block + offsetof(BlockScales16, group_scales) + 32 * line + 4 * g));
    } else if constexpr (kPacking == Packing::kBlocksIq4) {
      set_signed(
          load_as<uint32_t>(block + offsetof(BlockScalesIq4, group_scales) + 32 * line + 4 * g));
    } else if constexpr (kPacking == Packing::kBlocksIq1) {
      const uint32_t four = nibbles(block + offsetof(BlockShifts32, nibbles) + 16 * line, g);
      set(((four & 0x07070707) << 1) + kEachByte);
      const uint32_t large = (four >> 3) & kEachByte;  // nine eighths, not seven
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const uint32_t eighths = 7 + 2 * ((large >> (8 * i)) & 1);
        mins |= (eighths * static_cast<uint32_t>(whole[i / 2][i % 2])) << (8 * i);
      }
    } else if constexpr (PackingFacts<kPacking>::kInHalves) {
      set((nibbles(block + offsetof(BlockNibbles16, nibbles) + 16 * line, g) << 1) + kEachByte);
    } else {
      set((nibbles(block + offsetof(BlockNibbles32, nibbles) + 16 * line, g) << 1) + kEachByte);
    }
  }

 private:
  __device__ void set(uint32_t four) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      whole[i / 2][i % 2] = static_cast<int>((four >> (8 * i)) & 0xFF);
  }
  __device__ void set_signed(uint32_t four) {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      whole[i / 2][i % 2] = static_cast<int8_t>(four >> (8 * i));
  }
  // Of rows 2g and 2g + 1, a byte each.
  static __device__ uint32_t nibbles(const std::byte* line, int g) {
    const uint32_t two = load_as<uint16_t>(line + 2 * g);
    return (two & 0xF) | ((two & 0xF0) << 4) | ((two & 0xF00) << 8) | ((two & 0xF000) << 12);
  }
};

}  // namespace ingot::cuda
