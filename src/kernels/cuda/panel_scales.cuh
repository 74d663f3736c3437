// SPDX-License-Identifier: Apache-2.0
// The scales of a panel's rows (kernels/panel.h), as a lane of a warp reads them from shared
// memory.
#pragma once

#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/panel_codes.cuh"
#include "kernels/packing.h"

namespace ingot::cuda {

template <class T>
__device__ inline T load_as(const std::byte* from) {
  return *reinterpret_cast<const T*>(from);
}
__device__ inline float half_at(const std::byte* from, int index) {
  return __half2float(reinterpret_cast<const __half*>(from)[index]);
}

// --- packings with a float scale per group -------------------------------------------------------

struct GroupScale {
  float scale;
  float min;
  int zero;
};

template <ScaleForm kForm>
__device__ inline GroupScale group_scale(const std::byte* scales, int row) {
  if constexpr (kForm == ScaleForm::kPowers) {  // the levels are doubled to be whole
    const uint32_t exponent = load_as<uint8_t>(scales + row);
    // 2^(e - 127), of which the least is a denormal; halved.
    const float power = exponent == 0 ? 0x1p-127f : __uint_as_float(exponent << 23);
    return {(exponent == 255 ? __int_as_float(0x7fc00000) : power) * 0.5f, 0, 0};
  } else if constexpr (kForm == ScaleForm::kPairs) {  // e4m3 as a half is 256 times too small
    const uint16_t bits = static_cast<uint16_t>(load_as<uint8_t>(scales + row) << 7);
    return {__half2float(__ushort_as_half(bits)) * 128.0f, 0, 0};
  } else if constexpr (kForm == ScaleForm::kHalvesAndMins) {
    return {half_at(scales, row), half_at(scales, kPanelRows + row), 0};
  } else if constexpr (kForm == ScaleForm::kZeros) {
    const uint32_t word = load_as<uint32_t>(scales + row * 4);
    return {__uint_as_float(word & ~0xFFu), 0, static_cast<int>(word & 0xFF)};
  } else if constexpr (kForm == ScaleForm::kFloats) {
    return {load_as<float>(scales + row * 4), 0, 0};
  } else {
    return {half_at(scales, row), 0, 0};
  }
}

// --- packings with whole scales in blocks of 256 -------------------------------------------------

// weight = scale * whole[group] * code - min_scale * mins[group], for one row.
template <Packing kPacking>
struct BlockScale {
  static constexpr int kGroups = PackingFacts<kPacking>::kInHalves ? 16 : 8;
  float scale;
  float min_scale;
  uint32_t pairs[kGroups / 2];  // scales of two groups, 16 bits each
  uint32_t mins[kGroups / 2];

  static constexpr bool kHasMins =
      kPacking == Packing::kBlocks2Min || kPacking == Packing::kBlocks4Min ||
      kPacking == Packing::kBlocks5Min || kPacking == Packing::kBlocksIq1;

  static __device__ float float_scale(const std::byte* from, int row) {
    constexpr float kUnit = 1.0f / static_cast<float>(PackingFacts<kPacking>::kInfo.divisor);
    return half_at(from, row) * kUnit;
  }
  static __device__ float float_min_scale(const std::byte* from, int row) {
    if constexpr (kPacking == Packing::kBlocks4Min || kPacking == Packing::kBlocks5Min)
      return half_at(from + offsetof(BlockScales32, min_scales), row);
    if constexpr (kPacking == Packing::kBlocks2Min)
      return half_at(from + offsetof(BlockScales4, min_scales), row);
    if constexpr (kPacking == Packing::kBlocksIq1)
      return float_scale(from, row) / BlockShifts32::kShiftUnit;
    return 0;
  }

  // Reads a struct of panel.h. Offsets are taken from the struct itself.
  __device__ void load(const std::byte* from, int row) {
    scale = float_scale(from, row);
    min_scale = float_min_scale(from, row);
    if constexpr (kPacking == Packing::kBlocks2) {
      for (int i = 0; i < kGroups / 2; ++i)
        pairs[i] = 0x00010001;
    } else if constexpr (kPacking == Packing::kBlocks4Min || kPacking == Packing::kBlocks5Min) {
      for (int i = 0; i < 4; ++i) {
        pairs[i] = spread(from + offsetof(BlockScales32, group_scales) + 32 * i, row);
        mins[i] = spread(from + offsetof(BlockScales32, group_mins) + 32 * i, row);
      }
    } else if constexpr (kPacking == Packing::kBlocks2Min) {
      for (int i = 0; i < 8; ++i) {
        const uint32_t both = spread(from + offsetof(BlockScales4, group_scales) + 32 * i, row);
        pairs[i] = both & 0x000F000F;
        mins[i] = (both >> 4) & 0x000F000F;
      }
    } else if constexpr (kPacking == Packing::kBlocks3 || kPacking == Packing::kBlocks6) {
      for (int i = 0; i < 8; ++i)
        pairs[i] = spread_signed(from + offsetof(BlockScales16, group_scales) + 32 * i, row);
    } else if constexpr (kPacking == Packing::kBlocksIq4) {
      for (int i = 0; i < 4; ++i)
        pairs[i] = spread_signed(from + offsetof(BlockScalesIq4, group_scales) + 32 * i, row);
    } else if constexpr (kPacking == Packing::kBlocksIq1) {
      for (int i = 0; i < 4; ++i) {
        const uint32_t both = nibbles(from + offsetof(BlockShifts32, nibbles) + 16 * i, row);
        pairs[i] = ((both & 0x00070007) << 1) + 0x00010001;
        const uint32_t large = (both >> 3) & 0x00010001;  // nine eighths, not seven
        mins[i] = pairs[i] * 7 + ((large & 1) * 2 * (pairs[i] & 0xFFFF)) +
                  (((large >> 16) * 2 * (pairs[i] >> 16)) << 16);
      }
    } else if constexpr (kGroups == 16) {
      for (int i = 0; i < 8; ++i)
        pairs[i] = odd(nibbles(from + offsetof(BlockNibbles16, nibbles) + 16 * i, row));
    } else {
      for (int i = 0; i < 4; ++i)
        pairs[i] = odd(nibbles(from + offsetof(BlockNibbles32, nibbles) + 16 * i, row));
    }
  }
  __device__ int whole(int group) const {
    return static_cast<int16_t>(pairs[group / 2] >> (group % 2 * 16));
  }
  __device__ int min(int group) const {
    return static_cast<int16_t>(mins[group / 2] >> (group % 2 * 16));
  }

 private:
  static __device__ uint32_t spread(const std::byte* line, int row) {
    return __byte_perm(load_as<uint16_t>(line + 2 * row), 0, 0x4140);
  }
  static __device__ uint32_t spread_signed(const std::byte* line, int row) {
    const int two = load_as<uint16_t>(line + 2 * row);
    const int first = static_cast<int8_t>(two & 0xFF);
    const int second = static_cast<int8_t>(two >> 8);
    return (static_cast<uint32_t>(first) & 0xFFFF) | (static_cast<uint32_t>(second) << 16);
  }
  static __device__ uint32_t nibbles(const std::byte* line, int row) {
    const uint32_t two = load_as<uint8_t>(line + row);
    return (two & 0xF) | ((two >> 4) << 16);
  }
  static __device__ uint32_t odd(uint32_t pair) { return (pair << 1) + 0x00010001; }
};

}  // namespace ingot::cuda
