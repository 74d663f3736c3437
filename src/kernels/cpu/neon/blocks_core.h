// SPDX-License-Identifier: Apache-2.0
// Packings with whole scales in blocks of 256, for the walk over panels. Whole numbers up to a
// block's sum, then the reference's own roundings: the same bits. What adds a tile's products is a
// parameter, so that dot and matrix instructions share the rest. Anonymous, as codes.h explains.
#pragma once

#include "kernels/code_levels.h"
#include "kernels/cpu/neon/panel_walk.h"

namespace ingot::cpu {
namespace {

template <class Tiles, int Bits, int64_t Group, class PackedScales, int Offset,
          const int8_t* Levels = nullptr, int Divisor = 1>
struct BlocksCore {
  using Input = Q8G256;
  static constexpr int64_t kGroups = 256 / Group;
  static constexpr bool kHasShifts = requires(PackedScales s) { s.kShiftUnit; };
  static constexpr bool kHasMin = kHasShifts || requires(PackedScales s) { s.min_scales; };
  static constexpr bool kHasMins = requires(PackedScales s) { s.group_mins; };
  static constexpr bool kHasNibbles = requires(PackedScales s) { s.nibbles; };
  static constexpr bool kHasGroups = kHasNibbles || requires(PackedScales s) { s.group_scales; };
  static constexpr int64_t kRunBytes = kLine * Bits;
  static constexpr int64_t kScaleBytes = (sizeof(PackedScales) + kLine - 1) / kLine * kLine;
  static constexpr int64_t kBlockBytes = kScaleBytes + 8 * kRunBytes;

  // Two neighbouring groups of 4 rows.
  struct Pair {
    int16x4_t of[2];
  };
  struct Tile {
    int8x16_t codes[8 * 32];
    int32x4_t scales[kGroups][kQuarters];
    int16x4_t mins[kGroups][kQuarters];
    float32x4_t scale[kQuarters];
    float32x4_t min_scale[kQuarters];
  };

  static Pair split(int16x8_t words) {
    const int16x8_t low = vuzp1q_s16(words, words);
    const int16x8_t high = vuzp2q_s16(words, words);
    return {{vget_low_s16(low), vget_low_s16(high)}};
  }
  static Pair split(uint8x8_t bytes) { return split(vreinterpretq_s16_u16(vmovl_u8(bytes))); }
  static uint8x8_t scale_bytes(const PackedScales& scales, int64_t pair, int64_t q) {
    return vld1_u8(reinterpret_cast<const uint8_t*>(scales.group_scales[pair]) + q * 8);
  }
  // Two neighbouring groups' nibbles, [4 rows][2].
  static uint8x8_t nibble_bytes(const PackedScales& scales, int64_t pair, int64_t q) {
    uint32_t rows;
    __builtin_memcpy(&rows, scales.nibbles[pair] + q * 4, sizeof(rows));
    const uint8x8_t both = vreinterpret_u8_u32(vdup_n_u32(rows));
    return vzip1_u8(vand_u8(both, vdup_n_u8(0xF)), vshr_n_u8(both, 4));
  }
  static uint8x8_t scales_of(uint8x8_t nibbles) {
    if constexpr (kHasShifts) nibbles = vand_u8(nibbles, vdup_n_u8(7));
    return vadd_u8(vadd_u8(nibbles, nibbles), vdup_n_u8(1));
  }
  static Pair scale_pair(const PackedScales& scales, int64_t pair, int64_t q) {
    if constexpr (!kHasGroups) {
      return {{vdup_n_s16(1), vdup_n_s16(1)}};
    } else if constexpr (kHasNibbles) {
      return split(scales_of(nibble_bytes(scales, pair, q)));
    } else {
      const uint8x8_t bytes = scale_bytes(scales, pair, q);
      if constexpr (kHasMins) return split(bytes);
      if constexpr (kHasMin && !kHasMins) return split(vand_u8(bytes, vdup_n_u8(0xF)));
      if constexpr (!kHasMin) return split(vmovl_s8(vreinterpret_s8_u8(bytes)));
    }
  }
  // What goes with the sums of the inputs: the mins, or the scales for what is taken off the codes.
  static Pair min_pair(const PackedScales& scales, int64_t pair, int64_t q) {
    if constexpr (kHasShifts) {  // 7 or 9 times the scale
      const uint8x8_t nibbles = nibble_bytes(scales, pair, q);
      const uint8x8_t bit = vand_u8(vshr_n_u8(nibbles, 2), vdup_n_u8(2));
      return split(vmul_u8(scales_of(nibbles), vadd_u8(bit, vdup_n_u8(7))));
    } else if constexpr (kHasMins) {
      return split(vld1_u8(scales.group_mins[pair] + q * 8));
    } else if constexpr (kHasMin) {
      return split(vshr_n_u8(scale_bytes(scales, pair, q), 4));
    } else {
      return scale_pair(scales, pair, q);
    }
  }
  static const int16_t* sums_of(const Q8G256& x) {
    return Group == 16 ? x.sums_of_16 : x.sums_of_32;
  }
  static float32x4_t scale_of(const PackedScales& scales, int64_t q) {
    return vmulq_n_f32(widen_halves(scales.scales + q * 4), 1.0F / Divisor);
  }
  static float32x4_t min_scale_of(const PackedScales& scales, int64_t q) {
    if constexpr (kHasShifts)
      return vmulq_n_f32(scale_of(scales, q), 1.0F / PackedScales::kShiftUnit);
    else if constexpr (kHasMin)
      return widen_halves(scales.min_scales + q * 4);
    else
      return vdupq_n_f32(0);
  }
  static const PackedScales& scales_at(const std::byte* block) {
    return *reinterpret_cast<const PackedScales*>(block);
  }

  static float32x4_t finish_block(float32x4_t sum, int32x4_t total, int32x4_t min_sum,
                                  float32x4_t scale, float32x4_t min_scale, float x_scale) {
    if constexpr (!kHasMin) total = vmlsq_n_s32(total, min_sum, Offset);
    float32x4_t part = vmulq_f32(scale, vcvtq_f32_s32(total));
    if constexpr (kHasMin) part = vfmsq_f32(part, min_scale, vcvtq_f32_s32(min_sum));
    return vfmaq_n_f32(sum, part, x_scale);
  }

  // A block's quarters one after the other: their sums stay in registers, and its lines in L1.
  template <int64_t Tokens>
  static void direct(const std::byte* panel, const LinearArgs&, const Q8G256* x, int64_t stride,
                     float* out) {
    __builtin_memset(out, 0, sizeof(float) * 16 * Tokens);
    for (int64_t block = 0; block < stride; ++block, ++x, panel += kBlockBytes) {
      for (int64_t q = 0; q < kQuarters; ++q)
        direct_quarter<Tokens>(scales_at(panel), panel + kScaleBytes + q * 16, q, x, stride,
                               out + q * 4);
    }
  }
  template <int64_t Tokens>
  static void direct_quarter(const PackedScales& scales, const std::byte* run, int64_t q,
                             const Q8G256* x, int64_t stride, float* out) {
    int32x4_t totals[Tokens];
    int32x4_t min_sums[Tokens];
    for (int64_t t = 0; t < Tokens; ++t)
      totals[t] = min_sums[t] = vdupq_n_s32(0);
    for (int64_t r = 0; r < 8; ++r, run += kRunBytes) {
      int8x16_t codes[8];
      read_quarter<Bits, Levels>(run, codes);
      const int64_t pair = r * 32 / (2 * Group);
      const Pair scale = scale_pair(scales, pair, q);
      const Pair min = min_pair(scales, pair, q);
#pragma GCC unroll 4
      for (int64_t t = 0; t < Tokens; ++t) {
        const int8_t* in = x[t * stride].codes + r * 32;
        const int16_t* sums = sums_of(x[t * stride]) + r * 32 / Group;
        int32x4_t dot = dot_16(vdupq_n_s32(0), codes, vld1q_s8(in));
        if constexpr (Group == 32) {
          dot = dot_16(dot, codes + 4, vld1q_s8(in + 16));
          totals[t] = vmlaq_s32(totals[t], dot, vmovl_s16(scale.of[r % 2]));
          min_sums[t] = vmlal_n_s16(min_sums[t], min.of[r % 2], sums[0]);
        } else {
          const int32x4_t second = dot_16(vdupq_n_s32(0), codes + 4, vld1q_s8(in + 16));
          totals[t] = vmlaq_s32(totals[t], dot, vmovl_s16(scale.of[0]));
          totals[t] = vmlaq_s32(totals[t], second, vmovl_s16(scale.of[1]));
          min_sums[t] = vmlal_n_s16(min_sums[t], min.of[0], sums[0]);
          min_sums[t] = vmlal_n_s16(min_sums[t], min.of[1], sums[1]);
        }
      }
    }
    for (int64_t t = 0; t < Tokens; ++t) {
      vst1q_f32(out + t * 16,
                finish_block(vld1q_f32(out + t * 16), totals[t], min_sums[t], scale_of(scales, q),
                             min_scale_of(scales, q), x[t * stride].scale));
    }
  }

  static void fill(const std::byte* panel, const LinearArgs&, int64_t block, Tile& tile) {
    const PackedScales& scales = scales_at(panel + block * kBlockBytes);
    const std::byte* run = panel + block * kBlockBytes + kScaleBytes;
    for (int64_t q = 0; q < kQuarters; ++q) {
      for (int64_t r = 0; r < 8; ++r) {
        int8x16_t codes[8];
        read_quarter<Bits, Levels>(run + r * kRunBytes + q * 16, codes);
        Tiles::put(codes, q, tile.codes + r * 32);
      }
      for (int64_t group = 0; group < kGroups; ++group) {
        tile.scales[group][q] = vmovl_s16(scale_pair(scales, group / 2, q).of[group % 2]);
        tile.mins[group][q] = min_pair(scales, group / 2, q).of[group % 2];
      }
      tile.scale[q] = scale_of(scales, q);
      tile.min_scale[q] = min_scale_of(scales, q);
    }
  }

  template <int64_t Tokens>
  static void add(const Tile& tile, const LinearArgs&, int64_t, const Q8G256* x, int64_t stride,
                  float* out) {
    int32x4_t totals[Tokens][kQuarters];
    for (auto& token : totals) {
      for (int32x4_t& total : token)
        total = vdupq_n_s32(0);
    }
    for (int64_t group = 0; group < kGroups; ++group) {
      int32x4_t dots[Tokens][kQuarters];
      const int8_t* in[Tokens];
      for (int64_t t = 0; t < Tokens; ++t) {
        in[t] = x[t * stride].codes + group * Group;
        for (int64_t q = 0; q < kQuarters; ++q)
          dots[t][q] = vdupq_n_s32(0);
      }
      Tiles::template add<Group, Tokens>(tile.codes + group * Group, in, dots);
      for (int64_t t = 0; t < Tokens; ++t) {
        for (int64_t q = 0; q < kQuarters; ++q)
          totals[t][q] = vmlaq_s32(totals[t][q], dots[t][q], tile.scales[group][q]);
      }
    }
    for (int64_t t = 0; t < Tokens; ++t) {
      const Q8G256& from = x[t * stride];
      for (int64_t q = 0; q < kQuarters; ++q) {
        int32x4_t min_sum = vdupq_n_s32(0);
        for (int64_t group = 0; group < kGroups; ++group)
          min_sum = vmlal_n_s16(min_sum, tile.mins[group][q], sums_of(from)[group]);
        float* sum = out + t * 16 + q * 4;
        vst1q_f32(sum, finish_block(vld1q_f32(sum), totals[t][q], min_sum, tile.scale[q],
                                    tile.min_scale[q], from.scale));
      }
    }
  }
};

template <class Tiles>
struct BlocksKernels {
  using Q2Min = BlocksCore<Tiles, 2, 16, BlockScales4, 0>;
  using Q3 = BlocksCore<Tiles, 3, 16, BlockScales16, 4>;
  using Q4Min = BlocksCore<Tiles, 4, 32, BlockScales32, 0>;
  using Q5Min = BlocksCore<Tiles, 5, 32, BlockScales32, 0>;
  using Q6 = BlocksCore<Tiles, 6, 16, BlockScales16, 32>;
  using Iq4 = BlocksCore<Tiles, 4, 32, BlockScalesIq4, 0, kIq4Codes>;
  using Q2 = BlocksCore<Tiles, 2, 32, BlockScalesOne, 1>;
  using Iq1 = BlocksCore<Tiles, 2, 32, BlockShifts32, 0>;
  using Iq1M = BlocksCore<Tiles, 3, 16, BlockNibbles16, 0, kIq1Codes, kIq1Divisor>;
  using Iq2 = BlocksCore<Tiles, 3, 16, BlockNibbles16, 0, kIq2Codes, kIq2Divisor>;
  using Iq3Xxs = BlocksCore<Tiles, 4, 32, BlockNibbles32, 0, kIq3XxsCodes, kIq3XxsDivisor>;
  using Iq3S = BlocksCore<Tiles, 4, 32, BlockNibbles32, 0, kIq3SCodes>;
};

}  // namespace
}  // namespace ingot::cpu
