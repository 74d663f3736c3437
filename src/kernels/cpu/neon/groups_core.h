// SPDX-License-Identifier: Apache-2.0
// Packings with a float scale per group of 32, or of 16, for the walk over panels. Whole numbers up
// to a group's sum, then the reference's own roundings: the same bits. What adds a tile's products
// is a parameter, so that dot and matrix instructions share the rest. Anonymous, as codes.h
// explains.
#pragma once

#include <type_traits>

#include "kernels/code_levels.h"
#include "kernels/cpu/neon/panel_walk.h"

namespace ingot::cpu {
namespace {

// Scales of 4 rows: those of quarter `q`.
struct HalfScales {
  static constexpr int64_t kBytes = 32;
  static constexpr bool kHasMin = false;
  static float32x4_t scales(const std::byte* from, int64_t q) { return widen_halves(from + 8 * q); }
  static float32x4_t mins(const std::byte*, int64_t) { return vdupq_n_f32(0); }
};
struct HalfScalesAndMins {
  static constexpr int64_t kBytes = 64;
  static constexpr bool kHasMin = true;
  static float32x4_t scales(const std::byte* from, int64_t q) { return widen_halves(from + 8 * q); }
  static float32x4_t mins(const std::byte* from, int64_t q) {
    return widen_halves(from + 32 + 8 * q);
  }
};
struct ZeroScales {  // floats of 24 bits above zero points of 8, which take the place of minimums
  static constexpr int64_t kBytes = 64;
  static constexpr bool kHasMin = false;
  static float32x4_t scales(const std::byte* from, int64_t q) {
    return vreinterpretq_f32_u32(vbicq_u32(words(from, q), vdupq_n_u32(0xFF)));
  }
  static float32x4_t mins(const std::byte* from, int64_t q) {
    return vreinterpretq_f32_u32(vandq_u32(words(from, q), vdupq_n_u32(0xFF)));
  }

 private:
  static uint32x4_t words(const std::byte* from, int64_t q) {
    return vld1q_u32(reinterpret_cast<const uint32_t*>(from) + 4 * q);
  }
};
struct PowerScales {  // exponents alone; halved, as the levels are doubled
  static constexpr int64_t kBytes = 16;
  static constexpr bool kHasMin = false;
  static float32x4_t scales(const std::byte* from, int64_t q) {
    uint32_t bytes;
    __builtin_memcpy(&bytes, from + 4 * q, sizeof(bytes));
    const uint8x8_t narrow = vreinterpret_u8_u32(vdup_n_u32(bytes));
    const int32x4_t exponents = vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(vmovl_u8(narrow))));
    // Halving would leave nothing of the exponents 0 and 1 but the denormals that stand for them.
    const int32x4_t lower = vsubq_s32(exponents, vdupq_n_s32(1));
    const uint32x4_t halves = vreinterpretq_u32_s32(vshlq_n_s32(lower, 23));
    const uint32x4_t denormals = vshlq_u32(vdupq_n_u32(1u << 22), lower);
    const uint32x4_t values = vbslq_u32(vclezq_s32(lower), denormals, halves);
    const uint32x4_t is_nan = vceqq_s32(exponents, vdupq_n_s32(255));
    return vreinterpretq_f32_u32(vbslq_u32(is_nan, vdupq_n_u32(0x7FC00000), values));
  }
  static float32x4_t mins(const std::byte*, int64_t) { return vdupq_n_f32(0); }
};

struct PairScales {  // bytes of e4m3 for 16 columns, then for 16 more; halved, as levels are
                     // doubled
  static constexpr int64_t kBytes = 32;
  static constexpr bool kHasMin = false;
  static float32x4_t scales(const std::byte* from, int64_t q) {
    uint32_t bytes;
    __builtin_memcpy(&bytes, from + 4 * q, sizeof(bytes));
    const uint16x4_t words = vget_low_u16(vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(bytes))));
    // As a half it is 256 times too small.
    return vmulq_n_f32(vcvt_f32_f16(vreinterpret_f16_u16(vshl_n_u16(words, 7))), 128);
  }
  static float32x4_t mins(const std::byte*, int64_t) { return vdupq_n_f32(0); }
};

template <class Tiles, int Bits, class Scales, int Offset, const int8_t* Levels = nullptr>
struct GroupsCore {
  using Input = Q8G32;
  static constexpr int64_t kRunBytes = kLine * Bits;
  static constexpr int64_t kScaleBytes = 8 * Scales::kBytes;  // of a block
  static_assert(kScaleBytes % kLine == 0);
  static constexpr int64_t kParts = std::is_same_v<Scales, PairScales> ? 2 : 1;  // scales of a run
  static_assert(kParts == 1 || Offset == 0);

  struct Tile {
    int8x16_t codes[8 * 32];
    float32x4_t scales[8][kParts][kQuarters];
    float32x4_t mins[8][kQuarters];
  };

  static int64_t runs_of(const LinearArgs& args) { return args.cols / 32; }
  // What is taken off the codes, taken off their products' sum beforehand. Codes of 8 bits have
  // lost 128 already.
  static int32x4_t start(const Q8G32& x, int64_t group, float32x4_t zero) {
    if constexpr (std::is_same_v<Scales, ZeroScales>) {
      const int32x4_t left = vdupq_n_s32(Bits == 8 ? 128 : 0);
      return vmulq_n_s32(vsubq_s32(left, vreinterpretq_s32_f32(zero)), x.sums[group]);
    }
    return vdupq_n_s32(-Offset * x.sums[group]);
  }
  static float32x4_t finish_group(float32x4_t sum, int32x4_t dot, const Q8G32& x, int64_t group,
                                  float32x4_t scale, float32x4_t min) {
    sum = vfmaq_f32(sum, vmulq_n_f32(scale, x.scales[group]), vcvtq_f32_s32(dot));
    if constexpr (Scales::kHasMin) sum = vfmaq_f32(sum, min, vdupq_n_f32(x.weighed[group]));
    return sum;
  }

  template <int64_t Tokens>
  static void direct(const std::byte* panel, const LinearArgs& args, const Q8G32* x, int64_t stride,
                     float* out) {
    const std::byte* run = panel;
    const std::byte* scales = nullptr;
    const int64_t runs = runs_of(args);
    float32x4_t sums[kQuarters][Tokens];
    for (auto& quarter : sums) {
      for (float32x4_t& sum : quarter)
        sum = vdupq_n_f32(0);
    }
    for (int64_t r = 0; r < runs; ++r, run += kRunBytes, scales += Scales::kBytes) {
      const int64_t group = r % 8;
      if (group == 0) {
        scales = run;
        run += kScaleBytes;
      }
      const Q8G32* block = x + r / 8;
#pragma GCC unroll 4
      for (int64_t q = 0; q < kQuarters; ++q) {
        int8x16_t codes[8];
        read_quarter<Bits, Levels>(run + q * 16, codes);
        const float32x4_t scale = Scales::scales(scales, q);
        const float32x4_t min = Scales::mins(scales, q);
#pragma GCC unroll 4
        for (int64_t t = 0; t < Tokens; ++t) {
          const Q8G32& in = block[t * stride];
          int32x4_t dot = start(in, group, min);
          dot = dot_16(dot, codes, vld1q_s8(in.codes + group * 32));
          if constexpr (kParts == 2) {
            sums[q][t] = finish_group(sums[q][t], dot, in, group, scale, min);
            dot = dot_16(vdupq_n_s32(0), codes + 4, vld1q_s8(in.codes + group * 32 + 16));
            sums[q][t] =
                finish_group(sums[q][t], dot, in, group, Scales::scales(scales + 16, q), min);
            continue;
          }
          dot = dot_16(dot, codes + 4, vld1q_s8(in.codes + group * 32 + 16));
          sums[q][t] = finish_group(sums[q][t], dot, in, group, scale, min);
        }
      }
    }
    for (int64_t t = 0; t < Tokens; ++t) {
      for (int64_t q = 0; q < kQuarters; ++q)
        vst1q_f32(out + t * 16 + q * 4, sums[q][t]);
    }
  }

  static int64_t groups_of(const LinearArgs& args, int64_t block) {
    const int64_t left = runs_of(args) - block * 8;
    return left < 8 ? left : 8;
  }

  static void fill(const std::byte* panel, const LinearArgs& args, int64_t block, Tile& tile) {
    const std::byte* scales = panel + block * (kScaleBytes + 8 * kRunBytes);
    const std::byte* run = scales + kScaleBytes;
    for (int64_t r = 0; r < groups_of(args, block); ++r) {
      for (int64_t q = 0; q < kQuarters; ++q) {
        int8x16_t codes[8];
        read_quarter<Bits, Levels>(run + r * kRunBytes + q * 16, codes);
        Tiles::put(codes, q, tile.codes + r * 32);
        for (int64_t part = 0; part < kParts; ++part)
          tile.scales[r][part][q] = Scales::scales(scales + r * Scales::kBytes + part * 16, q);
        tile.mins[r][q] = Scales::mins(scales + r * Scales::kBytes, q);
      }
    }
  }

  template <int64_t Tokens>
  static void add(const Tile& tile, const LinearArgs& args, int64_t block, const Q8G32* x,
                  int64_t stride, float* out) {
    const int64_t groups = groups_of(args, block);
    constexpr int64_t kColumns = 32 / kParts;
    for (int64_t i = 0; i < groups * kParts; ++i) {
      const int64_t group = i / kParts;
      int32x4_t dots[Tokens][kQuarters];
      const int8_t* in[Tokens];
      for (int64_t t = 0; t < Tokens; ++t) {
        in[t] = x[t * stride].codes + i * kColumns;
        for (int64_t q = 0; q < kQuarters; ++q)
          dots[t][q] = start(x[t * stride], group, tile.mins[group][q]);
      }
      Tiles::template add<kColumns, Tokens>(tile.codes + i * kColumns, in, dots);
      for (int64_t t = 0; t < Tokens; ++t) {
        for (int64_t q = 0; q < kQuarters; ++q) {
          float* sum = out + t * 16 + q * 4;
          vst1q_f32(sum, finish_group(vld1q_f32(sum), dots[t][q], x[t * stride], group,
                                      tile.scales[group][i % kParts][q], tile.mins[group][q]));
        }
      }
    }
  }
};

template <class Tiles>
struct GroupsKernels {
  using Q4 = GroupsCore<Tiles, 4, HalfScales, 8>;
  using Q4Min = GroupsCore<Tiles, 4, HalfScalesAndMins, 0>;
  using Q5 = GroupsCore<Tiles, 5, HalfScales, 16>;
  using Q5Min = GroupsCore<Tiles, 5, HalfScalesAndMins, 0>;
  using Q8 = GroupsCore<Tiles, 8, HalfScales, 0>;
  using Q1 = GroupsCore<Tiles, 1, HalfScales, 0, kSignCodes>;
  using Q2 = GroupsCore<Tiles, 2, HalfScales, 1>;
  using Nvfp4 = GroupsCore<Tiles, 4, PairScales, 0, kE2m1Codes>;
  template <int Bits>
  using Zero = GroupsCore<Tiles, Bits, ZeroScales, 0>;
  using Iq4 = GroupsCore<Tiles, 4, HalfScales, 0, kIq4Codes>;
  using Nf4Bytes = GroupsCore<Tiles, 4, HalfScales, 0, kNf4Bytes>;
  using Fp4 = GroupsCore<Tiles, 4, PowerScales, 0, kE2m1Codes>;
  using Fp4Bytes = GroupsCore<Tiles, 4, HalfScales, 0, kBnbFp4Bytes>;
};

}  // namespace
}  // namespace ingot::cpu
