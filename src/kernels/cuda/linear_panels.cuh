// SPDX-License-Identifier: Apache-2.0
// The kernel of all packings of codes. A block of threads has a panel at a time, 16 rows, and up to
// 8 * kTiles tokens; its warps take blocks of 256 columns in turn, and their sums are added in the
// order of warps. Lanes are as mma_int8.cuh has them. Every warp has a few blocks of weights on
// their way into its own shared memory: that, not arithmetic, is what keeps the memory bus busy.
#pragma once

#include <cuda_fp16.h>

#include <cstring>
#include <type_traits>

#include "kernels/cuda/cp_async.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/linear.h"
#include "kernels/cuda/linear_tiles.cuh"
#include "kernels/cuda/mma_int8.cuh"
#include "kernels/cuda/panel_codes.cuh"

namespace ingot::cuda {

inline constexpr int kPanelWarps = 8;

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

  // Reads a struct of panel.h. Offsets are taken from the struct itself.
  __device__ void load(const std::byte* from, int row) {
    constexpr float kUnit = 1.0f / static_cast<float>(PackingFacts<kPacking>::kInfo.divisor);
    scale = half_at(from, row) * kUnit;
    min_scale = 0;
    if constexpr (kPacking == Packing::kBlocks2) {
      for (int i = 0; i < kGroups / 2; ++i)
        pairs[i] = 0x00010001;
    } else if constexpr (kPacking == Packing::kBlocks4Min || kPacking == Packing::kBlocks5Min) {
      min_scale = half_at(from + offsetof(BlockScales32, min_scales), row);
      for (int i = 0; i < 4; ++i) {
        pairs[i] = spread(from + offsetof(BlockScales32, group_scales) + 32 * i, row);
        mins[i] = spread(from + offsetof(BlockScales32, group_mins) + 32 * i, row);
      }
    } else if constexpr (kPacking == Packing::kBlocks2Min) {
      min_scale = half_at(from + offsetof(BlockScales4, min_scales), row);
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
      min_scale = scale / BlockShifts32::kShiftUnit;
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

// --- the kernel ----------------------------------------------------------------------------------

struct TileInput {
  const uint2* codes;    // of this lane, a run every 32
  const float2* scales;  // of its two tokens of sums, 2t and 2t + 1, a group every 4
  const short2* sums;
};

// Products of one run: of whole runs in first, of halves in first and second.
template <class Facts>
__device__ inline void multiply_run(const BytePair (&w)[2], const uint2& x, bool is_first_half,
                                    int (&first)[4], int (&second)[4]) {
  if constexpr (Facts::kInHalves) {  // the other half's inputs are zeros
    multiply_32<Facts::kIsSigned>(first, w[0].low, w[1].low, w[0].high, w[1].high,
                                  is_first_half ? x.x : 0, is_first_half ? x.y : 0);
    multiply_32<Facts::kIsSigned>(second, w[0].low, w[1].low, w[0].high, w[1].high,
                                  is_first_half ? 0 : x.x, is_first_half ? 0 : x.y);
  } else {
    multiply_32<Facts::kIsSigned>(first, w[0].low, w[1].low, w[0].high, w[1].high, x.x, x.y);
  }
}

constexpr int panel_stages(Packing packing) {
  constexpr int64_t kBytes = 9 << 10;  // of a warp
  const int64_t stages = kBytes / shape_of_panel(packing, kBlockColumns).block;
  return static_cast<int>(stages < 2 ? 2 : (stages > 4 ? 4 : stages));
}

// kTiles 0: one token alone, of which half the sums are.
template <Packing kPacking, int kTilesOrOne>
__global__ void __launch_bounds__(32 * kPanelWarps)
    linear_panels_kernel(const __grid_constant__ LinearParts parts,
                         const __grid_constant__ ByteInput x) {
  using Facts = PackingFacts<kPacking>;
  using Codes = typename Facts::Codes;
  constexpr int kTiles = kTilesOrOne == 0 ? 1 : kTilesOrOne;
  constexpr int kStep = kTilesOrOne == 0 ? 2 : 1;  // from one sum that counts to the next
  constexpr PanelShape kShape = Facts::kShape;
  constexpr int kStages = panel_stages(kPacking);
  extern __shared__ uint4 stages[];
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int g = lane / 4;
  const int t = lane % 4;

  const int runs = static_cast<int>(parts.cols / kRunColumns);
  const int blocks = (runs + 7) / 8;
  const int first_token = blockIdx.x * 8 * kTiles;
  const int panels = tiles_of(parts, kRowsOfTile);

  // This warp's blocks of this and the next panels, kStages of them on their way.
  std::byte* const own = reinterpret_cast<std::byte*>(stages) + warp * kStages * kShape.block;
  const auto own_at = static_cast<uint32_t>(__cvta_generic_to_shared(own));
  int next_panel = blockIdx.y;
  int next_block = warp;
  const auto fetch = [&](int stage) {
    if (next_panel < panels && next_block < blocks) {
      const TilePlace place = find_tile(parts, next_panel, kRowsOfTile);
      const LinearPart& part = parts.part[place.part];
      const int bytes =
          static_cast<int>(kShape.scales + min(8, runs - next_block * 8) * kShape.run);
      const std::byte* from = part.weights + place.tile * part.stride + next_block * kShape.block;
      for (int at = lane * 16; at < bytes; at += 32 * 16)
        copy_async(own_at + stage * static_cast<uint32_t>(kShape.block) + at, from + at);
      next_block += kPanelWarps;
      if (next_block >= blocks) {
        next_block = warp;
        next_panel += static_cast<int>(gridDim.y);
      }
    }
    close_copies();
  };
#pragma unroll
  for (int i = 0; i < kStages; ++i)
    fetch(i);
  wait_for_inputs();

  TileInput in[kTiles];
#pragma unroll
  for (int i = 0; i < kTiles; ++i) {
    // Tiles past the last read the last one's; what they give is not written.
    const int64_t tile =
        min(blockIdx.x * kTiles + i, (x.tokens + kTileTokens - 1) / kTileTokens - 1);
    constexpr int kSums = Facts::kInHalves ? 2 : 1;
    const int16_t* sums = Facts::kInHalves ? x.sums16 : x.sums32;
    in[i].codes = reinterpret_cast<const uint2*>(x.codes + tile * x.runs * 256) + lane;
    in[i].scales = reinterpret_cast<const float2*>(x.scales + tile * x.groups * 8) + t;
    in[i].sums = reinterpret_cast<const short2*>(sums + tile * x.runs * kSums * 8) + t;
  }
  [[maybe_unused]] const bool is_first_half = t < 2;

  float total[kTiles][4];
  int stage = 0;
  // A block of columns; most are full, and without questions in between their loads go out
  // together.
  const auto take = [&](int block, auto is_full) {
    constexpr bool kIsFull = decltype(is_full)::value;
    [[maybe_unused]] const int last_run = runs - 1;
    [[maybe_unused]] uint2 first_codes[8];
    if constexpr (kTiles == 1) {  // while the weights are on their way
#pragma unroll
      for (int run = 0; run < 8; ++run)
        first_codes[run] =
            in[0].codes[(kIsFull ? block * 8 + run : min(block * 8 + run, last_run)) * 32];
    }
    wait_for_copies<kStages - 1>();
    __syncwarp();
    const std::byte* base = own + stage * kShape.block;
    const auto* codes_at = reinterpret_cast<const uint32_t*>(base + kShape.scales);
    const int count = min(8, runs - block * 8);
    [[maybe_unused]] BlockScale<kPacking> block_scales[2];
    [[maybe_unused]] int whole[kTiles][4] = {};
    if constexpr (Facts::kInBlocks) {
      block_scales[0].load(base, g);
      block_scales[1].load(base, g + 8);
    }
#pragma unroll
    for (int run = 0; run < 8; ++run) {
      if (kIsFull || run < count) {
        Codes codes[2];
        const uint32_t* run_at = codes_at + run * (kShape.run / 4);
        codes[0].load(run_at, g, t);
        codes[1].load(run_at, g + 8, t);
        const int column_run = block * 8 + run;
        const BytePair w[2] = {Facts::values(codes[0], t), Facts::values(codes[1], t)};
        if constexpr (Facts::kInBlocks) {
#pragma unroll
          for (int tile = 0; tile < kTiles; ++tile) {
            const uint2 bytes = kTiles == 1 ? first_codes[run] : in[tile].codes[column_run * 32];
            int first[4] = {};
            int second[4] = {};
            multiply_run<Facts>(w, bytes, is_first_half, first, second);
#pragma unroll
            for (int k = 0; k < 4; k += kStep) {
              const BlockScale<kPacking>& scale = block_scales[k / 2];
              if constexpr (Facts::kInHalves) {
                whole[tile][k] +=
                    scale.whole(2 * run) * first[k] + scale.whole(2 * run + 1) * second[k];
              } else {
                whole[tile][k] += scale.whole(run) * first[k];
              }
            }
          }
        } else {
          constexpr ScaleForm kForm = Facts::kInfo.form;
          const std::byte* scales = base + run * Facts::kInfo.scale_bytes;
          const GroupScale scale[2] = {group_scale<kForm>(scales, g),
                                       group_scale<kForm>(scales, g + 8)};
          [[maybe_unused]] GroupScale second_scale[2];
          if constexpr (Facts::kInHalves) {
            second_scale[0] = group_scale<kForm>(scales + kPanelRows, g);
            second_scale[1] = group_scale<kForm>(scales + kPanelRows, g + 8);
          }
          [[maybe_unused]] BytePair low[2];
          if constexpr (Facts::kHasLowLevels) {
            low[0] = Facts::low_values(codes[0]);
            low[1] = Facts::low_values(codes[1]);
          }
#pragma unroll
          for (int tile = 0; tile < kTiles; ++tile) {
            const uint2 bytes = kTiles == 1 ? first_codes[run] : in[tile].codes[column_run * 32];
            int first[4] = {};
            int second[4] = {};
            multiply_run<Facts>(w, bytes, is_first_half, first, second);
            if constexpr (Facts::kHasLowLevels) {
              multiply_32<true>(second, low[0].low, low[1].low, low[0].high, low[1].high, bytes.x,
                                bytes.y);
            }
            const float2 both = in[tile].scales[column_run * 4];
            const float x_scales[2] = {both.x, both.y};
            [[maybe_unused]] int sums[2] = {0, 0};
            if constexpr (Facts::kHasZeros || kForm == ScaleForm::kHalvesAndMins) {
              const short2 own_sums = in[tile].sums[column_run * 4];
              sums[0] = own_sums.x;
              sums[1] = own_sums.y;
            }
#pragma unroll
            for (int k = 0; k < 4; k += kStep) {
              const GroupScale& group = scale[k / 2];
              float& sum = total[tile][k];
              if constexpr (Facts::kHasLowLevels) first[k] = 128 * first[k] + second[k];
              if constexpr (Facts::kHasZeros) first[k] -= group.zero * sums[k % 2];
              sum = fmaf(group.scale * x_scales[k % 2], static_cast<float>(first[k]), sum);
              if constexpr (Facts::kInHalves) {
                sum = fmaf(second_scale[k / 2].scale * x_scales[k % 2],
                           static_cast<float>(second[k]), sum);
              }
              if constexpr (kForm == ScaleForm::kHalvesAndMins) {
                sum = fmaf(group.min, x_scales[k % 2] * static_cast<float>(sums[k % 2]), sum);
              }
            }
          }
        }
      }
    }
    if constexpr (Facts::kInBlocks) {
      using Scale = BlockScale<kPacking>;
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        const float2 both = in[tile].scales[block * 4];
        const float x_scales[2] = {both.x, both.y};
        [[maybe_unused]] int min_sums[4] = {};
        if constexpr (Scale::kHasMins) {
#pragma unroll
          for (int i = 0; i < Scale::kGroups; ++i) {
            const short2 own_sums = in[tile].sums[(block * Scale::kGroups + i) * 4];
            const int sums[2] = {own_sums.x, own_sums.y};
#pragma unroll
            for (int k = 0; k < 4; k += kStep)
              min_sums[k] += block_scales[k / 2].min(i) * sums[k % 2];
          }
        }
#pragma unroll
        for (int k = 0; k < 4; k += kStep) {
          float& sum = total[tile][k];
          const Scale& scale = block_scales[k / 2];
          sum = fmaf(scale.scale * x_scales[k % 2], static_cast<float>(whole[tile][k]), sum);
          if constexpr (Scale::kHasMins) {
            sum = fmaf(-(scale.min_scale * x_scales[k % 2]), static_cast<float>(min_sums[k]), sum);
          }
        }
      }
    }
  };
  __shared__ WarpSums<kTiles, kPanelWarps> sums;
  for (int panel = blockIdx.y; panel < panels; panel += static_cast<int>(gridDim.y)) {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int k = 0; k < 4; ++k)
        total[tile][k] = 0;
    }
    for (int block = warp; block < blocks; block += kPanelWarps) {
      if (runs - block * 8 >= 8) {
        take(block, std::true_type{});
      } else {
        take(block, std::false_type{});
      }
      __syncwarp();  // all lanes have read it
      fetch(stage);
      stage = stage + 1 == kStages ? 0 : stage + 1;
    }
    if (panel + static_cast<int>(gridDim.y) >= panels) let_next_begin();
    sums.put(total);
    __syncthreads();
    sums.write(parts, find_tile(parts, panel, kRowsOfTile), first_token, x.tokens);
    __syncthreads();
  }
}

// Packings in groups, whose codes are long: as many blocks of threads as the device holds at once,
// and each goes on with the next panel while its weights are on their way already. Packings in
// blocks have more arithmetic, and a block of threads for every panel is a little faster.
template <Packing kPacking, class Kernel>
void launch_resident(Kernel kernel, unsigned tiles, size_t shared, const LinearParts& parts,
                     const ByteInput& x, Stream stream) {
  int device = 0;
  int processors = 1;
  int each = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                       static_cast<int>(shared));
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, 32 * kPanelWarps, shared);
  const auto panels = static_cast<unsigned>(tiles_of(parts, kRowsOfTile));
  const unsigned room = static_cast<unsigned>(processors * (each < 1 ? 1 : each)) / tiles;
  const unsigned most = PackingFacts<kPacking>::kInBlocks ? panels : (room < 1 ? 1 : room);
  const unsigned rounds = (panels + most - 1) / most;  // spread evenly over them
  launch_early(kernel, {dim3(tiles, (panels + rounds - 1) / rounds), 32 * kPanelWarps, shared},
               stream, parts, x);
}

template <Packing kPacking>
void launch_panels(const LinearParts& parts, const ByteInput& x, Stream stream) {
  const size_t shared = static_cast<size_t>(kPanelWarps * panel_stages(kPacking) *
                                            PackingFacts<kPacking>::kShape.block);
  constexpr int kTiles = 4;
  if (x.tokens == 1) {
    launch_resident<kPacking>(linear_panels_kernel<kPacking, 0>, 1, shared, parts, x, stream);
  } else if (x.tokens <= kTileTokens) {
    launch_resident<kPacking>(linear_panels_kernel<kPacking, 1>, 1, shared, parts, x, stream);
  } else {
    const unsigned tiles = (x.tokens + kTileTokens * kTiles - 1) / (kTileTokens * kTiles);
    launch_resident<kPacking>(linear_panels_kernel<kPacking, kTiles>, tiles, shared, parts, x,
                              stream);
  }
}

}  // namespace ingot::cuda
