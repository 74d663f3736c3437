// SPDX-License-Identifier: Apache-2.0
// Codes of a panel decoded to f16 in registers: weight = (code - offset) * scale + min. Where
// scales are not f16 in the first place, weights are taken kUnit times larger, so that scales of
// small weights do not become denormal; minimums up to 65504 / kUnit can be told.
#pragma once

#include <cuda_fp16.h>

#include "kernels/cuda/panel_rows.cuh"
#include "kernels/cuda/panel_scales.cuh"

namespace ingot::cuda {

__device__ inline __half2 as_halves(uint32_t bits) {
  return *reinterpret_cast<const __half2*>(&bits);
}
__device__ inline uint32_t as_bits(__half2 halves) {
  return *reinterpret_cast<const uint32_t*>(&halves);
}

// Of the two rows of a lane for one run, each number twice.
struct RunScales {
  __half2 scale[2];
  __half2 min[2];
  __half2 offset[2];  // taken off 1024 + code

  __device__ void set_scale(__half2 rows) {
    scale[0] = __low2half2(rows);
    scale[1] = __high2half2(rows);
  }
  __device__ void set_min(__half2 rows) {
    min[0] = __low2half2(rows);
    min[1] = __high2half2(rows);
  }
};

template <Packing kPacking>
struct DecodeFacts : PackingFacts<kPacking> {
  using Facts = PackingFacts<kPacking>;
  static constexpr bool kHasMins = Facts::kInBlocks
                                       ? BlockScale<kPacking>::kHasMins
                                       : Facts::kInfo.form == ScaleForm::kHalvesAndMins;
  static constexpr bool kHasHalves =
      Facts::kInfo.form == ScaleForm::kHalves || Facts::kInfo.form == ScaleForm::kHalvesAndMins;
  static constexpr float kUnit =
      kHasHalves || Facts::kInfo.form == ScaleForm::kPairs ? 1.0f : 16.0f;
  // Levels are signed bytes, which are shifted to be read as codes.
  static constexpr float kOffset = 1024.0f + (Facts::kHasLevels ? 128.0f : Facts::kInfo.offset);
};

// A block's whole scales times its float ones. Lane (g, t) makes those of runs 2t and 2t + 1; of()
// asks the lane that has a run's.
template <Packing kPacking>
class BlockHalves {
  using Facts = DecodeFacts<kPacking>;
  using Scale = BlockScale<kPacking>;
  static constexpr int kSets = Facts::kInHalves ? 2 : 1;  // groups of a run

 public:
  __device__ void load(const std::byte* block, int g, int t) {
    const float first = Scale::float_scale(block, 2 * g) * Facts::kUnit;
    const float second = Scale::float_scale(block, 2 * g + 1) * Facts::kUnit;
    [[maybe_unused]] float first_min = 0;
    [[maybe_unused]] float second_min = 0;
    if constexpr (Facts::kHasMins) {
      first_min = -Scale::float_min_scale(block, 2 * g) * Facts::kUnit;
      second_min = -Scale::float_min_scale(block, 2 * g + 1) * Facts::kUnit;
    }
#pragma unroll
    for (int i = 0; i < kSets; ++i) {
      PairScales<kPacking> pair;
      pair.load(block, Facts::kInHalves ? 2 * t + i : t, g);
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        // Of run 2t + k; or of run 2t + i, its half k.
        __half2& scale = Facts::kInHalves ? scales_[i][k] : scales_[k][0];
        __half2& min = Facts::kInHalves ? mins_[i][k] : mins_[k][0];
        scale = __floats2half2_rn(first * static_cast<float>(pair.whole[0][k]),
                                  second * static_cast<float>(pair.whole[1][k]));
        if constexpr (Facts::kHasMins) {
          min = __floats2half2_rn(
              first_min * static_cast<float>((pair.mins >> (8 * k)) & 0xFF),
              second_min * static_cast<float>((pair.mins >> (8 * k + 16)) & 0xFF));
        }
      }
    }
  }

  __device__ void of(int run, int g, int t, RunScales& to) const {
    const int lane = g * 4 + run / 2;
    to.set_scale(ask(scales_[run % 2], lane, t));
    if constexpr (Facts::kHasMins) to.set_min(ask(mins_[run % 2], lane, t));
    to.offset[0] = to.offset[1] = __float2half2_rn(-Facts::kOffset);
  }

 private:
  static __device__ __half2 ask(const __half2 (&own)[kSets], int lane, int t) {
    const uint32_t first = __shfl_sync(0xFFFFFFFF, as_bits(own[0]), lane);
    if constexpr (Facts::kInHalves) {
      const uint32_t second = __shfl_sync(0xFFFFFFFF, as_bits(own[1]), lane);
      return as_halves(t < 2 ? first : second);
    }
    return as_halves(first);
  }

  __half2 scales_[2][kSets];  // [run][half]: row 2g and row 2g + 1
  __half2 mins_[2][kSets];
};

// Scales of groups, as they lie before the codes.
template <Packing kPacking>
class GroupHalves {
  using Facts = DecodeFacts<kPacking>;

 public:
  __device__ void load(const std::byte* block, int, int) { block_ = block; }
  __device__ void of(int run, int g, int t, RunScales& to) const {
    constexpr ScaleForm kForm = Facts::kInfo.form;
    const std::byte* scales = block_ + run * Facts::kInfo.scale_bytes;
    to.offset[0] = to.offset[1] = __float2half2_rn(-Facts::kOffset);
    if constexpr (Facts::kHasHalves) {
      to.set_scale(as_halves(load_as<uint32_t>(scales + 4 * g)));
      if constexpr (Facts::kHasMins)
        to.set_min(as_halves(load_as<uint32_t>(scales + 2 * kPanelRows + 4 * g)));
      return;
    }
    if (Facts::kInHalves && t >= 2) scales += kPanelRows;
    const GroupScale rows[2] = {group_scale<kForm>(scales, 2 * g),
                                group_scale<kForm>(scales, 2 * g + 1)};
    // Levels of two bytes are taken 128 times smaller.
    constexpr float kUnit = Facts::kUnit * (Facts::kHasLowLevels ? 128 : 1);
    to.set_scale(__floats2half2_rn(rows[0].scale * kUnit, rows[1].scale * kUnit));
    if constexpr (Facts::kHasZeros) {
#pragma unroll
      for (int i = 0; i < 2; ++i)
        to.offset[i] = __float2half2_rn(-Facts::kOffset - static_cast<float>(rows[i].zero));
    }
  }

 private:
  const std::byte* block_;
};

// Which of four columns are pairs: the first and second, or the first and third, which take fewer
// instructions.
enum class Pairing : uint8_t { kNeighbours, kApart };

// Four bytes as two pairs of f16 numbers: codes, or levels.
struct FourHalves {
  __half2 pairs[2];
};
template <Pairing kPairing>
__device__ inline FourHalves widen(uint32_t bytes, __half2 offset) {
  constexpr bool kIsApart = kPairing == Pairing::kApart;
  constexpr uint32_t kFirst = kIsApart ? 0x4240 : 0x4140;
  constexpr uint32_t kSecond = kIsApart ? 0x4341 : 0x4342;
  return {{__hadd2(as_halves(__byte_perm(bytes, 0x64646464, kFirst)), offset),
           __hadd2(as_halves(__byte_perm(bytes, 0x64646464, kSecond)), offset)}};
}
// The low nibbles of four bytes, or the high ones: 1024 and a code, or and sixteen codes.
template <bool kIsHigh>
__device__ inline FourHalves widen_nibbles(uint32_t bytes, __half2 offset) {
  const auto two = [&](uint32_t word) {
    uint32_t code_bits;  // (word & mask) | thousands, which the compiler makes two instructions of
    asm("lop3.b32 %0, %1, %2, %3, 0xEA;"
        : "=r"(code_bits)
        : "r"(word), "n"(kIsHigh ? 0x00F000F0 : 0x000F000F), "r"(0x64006400));
    const __half2 code = as_halves(code_bits);
    if constexpr (!kIsHigh) return __hadd2(code, offset);
    return __hfma2(code, __float2half2_rn(1.0f / 16), __hadd2(offset, __float2half2_rn(960)));
  };
  return {{two(bytes), two(bytes >> 8)}};
}

// The tensor cores' operands of one run: two steps of 16 columns, rows 2g and 2g + 1.
template <Packing kPacking, Pairing kPairing = Pairing::kNeighbours>
__device__ inline void decode_run(const typename PackingFacts<kPacking>::Codes (&codes)[2],
                                  const RunScales& scales, int t, uint32_t (&a)[2][4]) {
  using Facts = DecodeFacts<kPacking>;
  constexpr uint32_t kShift = Facts::kHasLevels ? 0x80808080 : 0;
  constexpr bool kIsNibbles =
      kPairing == Pairing::kApart && Facts::kBits == 4 && !Facts::kHasLevels;
#pragma unroll
  for (int row = 0; row < 2; ++row) {
    const BytePair bytes = Facts::kHasLevels ? Facts::values(codes[row], t) : codes[row].plain(t);
    [[maybe_unused]] const BytePair low = Facts::low_values(codes[row]);
#pragma unroll
    for (int step = 0; step < 2; ++step) {
      FourHalves four;
      if constexpr (kIsNibbles) {
        four = step == 0 ? widen_nibbles<false>(codes[row].words[0], scales.offset[row])
                         : widen_nibbles<true>(codes[row].words[0], scales.offset[row]);
      } else {
        four = widen<kPairing>((step == 0 ? bytes.low : bytes.high) ^ kShift, scales.offset[row]);
      }
      if constexpr (Facts::kHasLowLevels) {
        const FourHalves fine =
            widen<kPairing>((step == 0 ? low.low : low.high) ^ kShift, scales.offset[row]);
        const __half2 unit = __float2half2_rn(1.0f / 128);
        four.pairs[0] = __hfma2(fine.pairs[0], unit, four.pairs[0]);
        four.pairs[1] = __hfma2(fine.pairs[1], unit, four.pairs[1]);
      }
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const __half2 weight = Facts::kHasMins
                                   ? __hfma2(four.pairs[i], scales.scale[row], scales.min[row])
                                   : __hmul2(four.pairs[i], scales.scale[row]);
        a[step][2 * i + row] = as_bits(weight);
      }
    }
  }
}

}  // namespace ingot::cuda
