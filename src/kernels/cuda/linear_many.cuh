// SPDX-License-Identifier: Apache-2.0
// The kernel of all packings of codes for more than eight tokens. Eight warps have a panel each,
// and a ninth brings the inputs, a block of 256 columns of all tokens at a time, into shared memory
// for all of them: else inputs, not weights, would be most of what is read. Blocks of columns come
// in the order in which linear_panels.cuh adds them: all of class 0 (blocks 0, 8, ...), then those
// of class 1, and so on. Where there are too few panels for the device, classes are shared among
// blocks of threads, and the last one adds the classes.
#pragma once

#include "kernels/cuda/last_block.cuh"
#include "kernels/cuda/linear_panels.cuh"
#include "kernels/cuda/linear_panels_launch.h"

namespace ingot::cuda {

inline constexpr int kClasses = kPanelWarps;
inline constexpr int kManyThreads = 32 * (kManyPanels + 1);

// A block of columns of one tile of inputs in shared memory.
template <class Facts>
struct TileBlock {
  static constexpr int kScales = Facts::kInBlocks ? 1 : 8;
  static constexpr int kSums = Facts::kInHalves ? 16 : 8;
  int8_t codes[8 * 8 * 32];
  float scales[kScales * 8];
  int16_t sums[kSums * 8];
};

template <Packing kPacking>
struct ManyShape {
  using Facts = PackingFacts<kPacking>;
  using Inputs = TileBlock<Facts>[kManyTiles];
  static constexpr int kInputStages = 3;
  static constexpr auto kBlockBytes = static_cast<int>(Facts::kShape.block);
  static constexpr int kStages = panel_stages(kPacking);
  static constexpr size_t kWeightBytes = size_t{kManyPanels} * kStages * kBlockBytes;
  static constexpr size_t kSharedBytes = kWeightBytes + kInputStages * sizeof(Inputs);
  static_assert(kWeightBytes % 16 == 0 && sizeof(TileBlock<Facts>) % 16 == 0);
};

// The blocks of columns of classes [first, end), class after class.
class ClassWalk {
 public:
  __device__ ClassWalk(int first, int end, int blocks)
      : class_(first), end_(end < blocks ? end : blocks), blocks_(blocks), block_(first) {}
  __device__ bool is_done() const { return class_ >= end_; }
  __device__ int block() const { return block_; }
  __device__ int of_class() const { return class_; }
  __device__ bool is_last_of_class() const { return block_ + kClasses >= blocks_; }
  __device__ void go_on() {
    block_ += kClasses;
    if (block_ >= blocks_) block_ = ++class_;
  }

 private:
  int class_;
  int end_;
  int blocks_;
  int block_;
};

// The ninth warp: copies of inputs, kInputStages blocks at a time. All threads meet once a block:
// then its inputs are there, and those of the block before have been read.
template <Packing kPacking>
__device__ inline void bring_inputs(const ByteInput& x, int first_tile, ClassWalk walk,
                                    typename ManyShape<kPacking>::Inputs* stages,
                                    uint64_t* barriers) {
  using Shape = ManyShape<kPacking>;
  using Facts = typename Shape::Facts;
  using Tile = TileBlock<Facts>;
  const int16_t* code_sums = Facts::kInHalves ? x.sums16 : x.sums32;
  const int tiles = (x.tokens + kTileTokens - 1) / kTileTokens;
  CopyRing<Shape::kInputStages, Shape::kInputStages - 2> ring(barriers);
  ClassWalk ahead = walk;
  const auto fetch = [&] {
    if (ahead.is_done()) return ring.skip();
    auto& stage = stages[ring.begin(kManyTiles * static_cast<int>(sizeof(Tile)))];
    const int block = ahead.block();
    for (int i = 0; i < kManyTiles; ++i) {
      // Tiles past the last read the last one's; what they give is not written.
      const int64_t tile = min(first_tile + i, tiles - 1);
      Tile& to = stage[i];
      ring.copy(to.codes, x.codes + (tile * x.runs + block * 8) * 256, sizeof(to.codes));
      ring.copy(to.scales, x.scales + (tile * x.groups + block * Tile::kScales) * 8,
                sizeof(to.scales));
      ring.copy(to.sums, code_sums + (tile * x.runs / 8 + block) * Tile::kSums * 8,
                sizeof(to.sums));
    }
    ring.end();
    ahead.go_on();
  };
  // One stage less than there are: the one that is being read.
  for (int i = 0; i + 1 < Shape::kInputStages; ++i)
    fetch();
  for (; !walk.is_done(); walk.go_on()) {
    ring.wait();
    __syncthreads();
    ring.release();
    fetch();
  }
}

// Where a lane's number k of a tile belongs: row g or g + 8 of its panel, token 2t or 2t + 1.
struct ManyPlace {
  int row;
  int token;
};
__device__ inline ManyPlace many_place(int first_tile, int tile, int k) {
  const int lane = threadIdx.x % 32;
  return {lane / 4 + k / 2 * 8, (first_tile + tile) * kTileTokens + lane % 4 * 2 + k % 2};
}

// A class's sums of a panel, [class][token][row of all panels].
__device__ inline float& partial_at(const LinearParts& parts, int panel, int panels, int of_class,
                                    int tokens, ManyPlace place) {
  const int64_t line = static_cast<int64_t>(of_class) * tokens + place.token;
  return parts.partials[(line * panels + panel) * kPanelRows + place.row];
}

template <Packing kPacking>
__global__ void __launch_bounds__(kManyThreads, 2)
    linear_many_kernel(const __grid_constant__ LinearParts parts,
                       const __grid_constant__ ByteInput x) {
  using Shape = ManyShape<kPacking>;
  using Facts = typename Shape::Facts;
  constexpr PanelShape kShape = Facts::kShape;
  extern __shared__ uint4 memory[];
  __shared__ uint64_t barriers[kManyPanels][Shape::kStages];
  __shared__ uint64_t input_barriers[Shape::kInputStages];
  auto* const weights = reinterpret_cast<std::byte*>(memory);
  auto* const inputs = reinterpret_cast<typename Shape::Inputs*>(weights + Shape::kWeightBytes);
  const int warp = threadIdx.x / 32;
  const int runs = static_cast<int>(parts.cols / kRunColumns);
  const int blocks = (runs + 7) / 8;
  const int panels = tiles_of(parts, kRowsOfTile);
  const int first_tile = static_cast<int>(blockIdx.x) * kManyTiles;
  const int shares = static_cast<int>(gridDim.y);
  const int classes_each = kClasses / shares;
  const int first_class = static_cast<int>(blockIdx.y) * classes_each;
  const ClassWalk all(first_class, first_class + classes_each, blocks);

  const int panel = static_cast<int>(blockIdx.z) * kManyPanels + warp;
  const bool is_input_warp = warp == kManyPanels;
  const bool has_panel = !is_input_warp && panel < panels;
  const TilePlace place = has_panel ? find_tile(parts, panel, kRowsOfTile) : TilePlace{};
  // Of all of a lane's numbers that count.
  const auto for_all = [&](const auto& call) {
#pragma unroll
    for (int tile = 0; tile < kManyTiles; ++tile) {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const ManyPlace at = many_place(first_tile, tile, k);
        if (at.token < x.tokens) call(tile, k, at);
      }
    }
  };
  float total[kManyTiles][4] = {};
  if (is_input_warp) {
    wait_for_inputs();
    bring_inputs<kPacking>(x, first_tile, all, inputs, input_barriers);
  } else {
    const LinearPart& part = parts.part[place.part];
    const std::byte* at = part.weights + place.tile * part.stride;
    WeightRing<Shape::kBlockBytes, Shape::kStages> ring(
        weights + warp * Shape::kStages * Shape::kBlockBytes, barriers[warp]);
    ClassWalk ahead = all;
    const auto fetch = [&] {
      if (!has_panel || ahead.is_done()) return ring.fetch(nullptr, 0);
      const int count = min(8, runs - ahead.block() * 8);
      ring.fetch(at + static_cast<int64_t>(ahead.block()) * Shape::kBlockBytes,
                 static_cast<int>(kShape.scales + count * kShape.run));
      ahead.go_on();
    };
#pragma unroll
    for (int i = 0; i < Shape::kStages; ++i)
      fetch();
    wait_for_inputs();
    float of_class[kManyTiles][4] = {};
    int stage = 0;
    for (ClassWalk walk = all; !walk.is_done(); walk.go_on()) {
      __syncthreads();
      if (has_panel) {
        TileInput in[kManyTiles];
#pragma unroll
        for (int i = 0; i < kManyTiles; ++i) {
          const TileBlock<Facts>& tile = inputs[stage][i];
          in[i] = tile_input<Facts>(tile.codes, tile.scales, tile.sums, 0);
        }
        const std::byte* base = ring.wait();
        const int count = runs - walk.block() * 8;
        if (count >= 8) {
          add_block<kPacking, true>(base, in, 8, of_class);
        } else {
          add_block<kPacking, false>(base, in, count, of_class);
        }
        ring.release();
        fetch();
        if (walk.is_last_of_class()) {
          if (shares > 1) {
            for_all([&](int tile, int k, ManyPlace at) {
              partial_at(parts, panel, panels, walk.of_class(), x.tokens, at) = of_class[tile][k];
            });
          }
          add_all(total, of_class);
          set_zero(of_class);
        }
      }
      stage = stage + 1 == Shape::kInputStages ? 0 : stage + 1;
    }
  }
  let_next_begin();
  if (shares > 1) {
    uint32_t* counter = parts.counters + blockIdx.z * gridDim.x + blockIdx.x;
    if (!is_last_of(counter, shares)) return;
    set_zero(total);
    for (int i = 0; i < min(kClasses, blocks) && has_panel; ++i) {
      for_all([&](int tile, int k, ManyPlace at) {
        total[tile][k] += __ldcg(&partial_at(parts, panel, panels, i, x.tokens, at));
      });
    }
  }
  if (!has_panel) return;
  for_all([&](int tile, int k, ManyPlace at) {
    write_output(parts, place, at.row, at.token, total[tile][k]);
  });
}

template <Packing kPacking>
void launch_many(const LinearParts& parts, const ByteInput& x, Stream stream) {
  const ManyGrid grid = many_grid(parts, x.tokens);
  launch_early(
      linear_many_kernel<kPacking>,
      {dim3(grid.tiles, grid.shares, grid.groups), kManyThreads, ManyShape<kPacking>::kSharedBytes},
      stream, parts, x);
}

}  // namespace ingot::cuda
