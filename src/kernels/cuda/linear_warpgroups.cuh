// SPDX-License-Identifier: Apache-2.0
// linear_decoded.cuh's work on Hopper. A warp decodes a panel to f16 in registers, as there; but
// four warps together hand their 64 rows to the tensor cores, which read the inputs of 32, 64 or
// 128 tokens from shared memory by themselves, and work while the next run is decoded. One warp
// more sends for weights and inputs, 256 columns at a time. Columns may be shared among a few
// blocks of threads: a cluster, whose sums are added in the order of its ranks through shared
// memory. Inputs come with the columns of each run in the order of slot_order.h.
#pragma once

#include "kernels/cuda/cluster.cuh"
#include "kernels/cuda/half_scales.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/linear_panels_launch.h"
#include "kernels/cuda/linear_tiles.cuh"
#include "kernels/cuda/mma.cuh"
#include "kernels/cuda/tensor_copy.cuh"
#include "kernels/cuda/tensor_map.h"
#include "kernels/cuda/wgmma_rows.cuh"

namespace ingot::cuda {

template <Packing kPacking, int kTokens>
struct WarpgroupsShape {
  using Facts = PackingFacts<kPacking>;
  static constexpr int kPanels = warpgroup_panels(kTokens);
  static constexpr int kRows = kPanels * kPanelRows;
  static constexpr int kComputing = 32 * kPanels;  // threads
  static constexpr int kThreads = kComputing + 32;
  static constexpr auto kBlockBytes = static_cast<int>(Facts::kShape.block);
  static constexpr int kBoxes = kBlockColumns / kBoxElements;
  static constexpr int kBoxBytes = kTokens * kBoxElements * 2;
  static constexpr int kInputBytes = kBoxes * kBoxBytes;
  static constexpr int kUnit = 1024;  // that boxes begin at multiples of
  static constexpr int kStageBytes =
      (kInputBytes + kPanels * kBlockBytes + kUnit - 1) / kUnit * kUnit;
  static constexpr int kFit = (224 << 10) / kStageBytes;
  static constexpr int kStages = kFit < 6 ? kFit : 6;
  static_assert(kFit >= 2);
  static constexpr int kLine = kRows + 8;  // floats of a token's sums: tokens at other banks
  static_assert(kTokens * kLine * 4 <= kStages * kStageBytes);
  static constexpr int kBytes = kUnit + kStages * kStageBytes;
};

template <Packing kPacking, int kTokens>
class Warpgroups {
  using Shape = WarpgroupsShape<kPacking, kTokens>;
  using Facts = PackingFacts<kPacking>;
  static constexpr PanelShape kShape = Facts::kShape;
  static constexpr int kStages = Shape::kStages;

 public:
  struct Barriers {
    uint64_t full[kStages];
    uint64_t used[kStages];
  };

  __device__ Warpgroups(const LinearParts& parts, const CUtensorMap& inputs, int tokens,
                        uint8_t* shared, Barriers& barriers)
      : parts_(parts),
        inputs_(inputs),
        stages_(reinterpret_cast<std::byte*>(shared)),
        full_(shared_address(barriers.full)),
        used_(shared_address(barriers.used)),
        runs_(static_cast<int>(parts.cols / kRunColumns)),
        panels_(panels_of(parts)),
        first_panel_(static_cast<int>(blockIdx.z) * Shape::kPanels),
        first_token_(static_cast<int>(blockIdx.y) * kTokens),
        tokens_(min(kTokens, tokens - first_token_)),
        warp_(static_cast<int>(threadIdx.x) / 32),
        lane_(static_cast<int>(threadIdx.x) % 32) {
    const int blocks = (runs_ + 7) / 8;
    const int each = (blocks + cluster_size() - 1) / cluster_size();
    first_block_ = cluster_rank() * each;
    blocks_ = max(0, min(each, blocks - first_block_));
    if (threadIdx.x == 0) {
      for (int i = 0; i < kStages; ++i) {
        make_barrier(full_ + 8 * i, 1);
        make_barrier(used_ + 8 * i, Shape::kComputing);
      }
      show_barriers_to_copies();
    }
    __syncthreads();
  }

  __device__ void run() {
    if (warp_ == Shape::kPanels) {
      fetch();
      let_next_begin();
    } else {
      compute();
    }
    arrive_at_cluster();
    wait_for_cluster();
    if (warp_ < Shape::kPanels) join();
    leave_cluster();  // not while others read these sums
  }

 private:
  // Panels of gate and of up in turn where these go together.
  __device__ TilePlace find_panel(int panel) const {
    if (parts_.gating.is_on) return {panel % 2, panel / 2};
    return find_tile(parts_, panel, kRowsOfTile);
  }
  __device__ std::byte* stage(int i) const { return stages_ + i % kStages * Shape::kStageBytes; }
  __device__ uint32_t full(int i) const { return full_ + 8 * (i % kStages); }
  __device__ uint32_t used(int i) const { return used_ + 8 * (i % kStages); }
  static __device__ uint32_t parity(int i) { return static_cast<uint32_t>(i / kStages) & 1u; }

  __device__ void fetch() {
    const int panel = first_panel_ + lane_;
    const bool has_panel = lane_ < Shape::kPanels && panel < panels_;
    const TilePlace place = has_panel ? find_panel(panel) : TilePlace{};
    const std::byte* weights =
        parts_.part[place.part].weights + place.tile * parts_.part[place.part].stride;
    const int present = min(Shape::kPanels, panels_ - first_panel_);
    const auto send_weights = [&](int i) {
      const int block = first_block_ + i;
      const int count = min(8, runs_ - block * 8);
      const auto bytes = static_cast<int>(kShape.scales + count * kShape.run);
      if (lane_ == 0)
        arrive_expecting(full(i), static_cast<uint32_t>(present * bytes + Shape::kInputBytes));
      __syncwarp();
      if (has_panel) {
        copy_bytes(shared_address(stage(i) + Shape::kInputBytes + lane_ * Shape::kBlockBytes),
                   weights + static_cast<int64_t>(block) * Shape::kBlockBytes,
                   static_cast<uint32_t>(bytes), full(i));
      }
    };
    const auto send_inputs = [&](int i) {
      if (lane_ >= Shape::kBoxes) return;
      const int column = (first_block_ + i) * kBlockColumns + lane_ * kBoxElements;
      copy_box(inputs_, {column, first_token_, 0},
               shared_address(stage(i)) + static_cast<uint32_t>(lane_ * Shape::kBoxBytes), full(i));
    };
    // Weights do not depend on other kernels.
    const int ahead = min(kStages, blocks_);
    for (int i = 0; i < ahead; ++i)
      send_weights(i);
    wait_for_inputs();
    for (int i = 0; i < ahead; ++i)
      send_inputs(i);
    for (int i = kStages; i < blocks_; ++i) {
      wait_for_phase(used(i), parity(i) ^ 1u);
      send_weights(i);
      send_inputs(i);
    }
  }

  __device__ void compute() {
    float total[kTokens / 2] = {};
    for (int i = 0; i < blocks_; ++i) {
      wait_for_phase(full(i), parity(i));
      clear_missing(i);
      add_block(i, total);
      arrive(used(i));
    }
    let_next_begin();
    // The stages are everyone's; now they become the place of sums.
    asm volatile("bar.sync 1, %0;" ::"n"(Shape::kComputing) : "memory");
    constexpr float kScale = 1.0f / DecodeFacts<kPacking>::kUnit;
    auto* const sums = reinterpret_cast<float*>(stages_);
    const int g = lane_ / 4;
    const int t = lane_ % 4;
    // Numbers k and k + 2 of a tile are of rows 2g and 2g + 1 and token 2t + k.
#pragma unroll
    for (int tile = 0; tile < kTokens / 8; ++tile) {
#pragma unroll
      for (int k = 0; k < 2; ++k) {
        const int token = tile * 8 + 2 * t + k;
        *reinterpret_cast<float2*>(sums + token * Shape::kLine + warp_ * kPanelRows + 2 * g) =
            make_float2(total[4 * tile + k] * kScale, total[4 * tile + k + 2] * kScale);
      }
    }
  }

  // Runs behind the last column: whatever is left in this warp's memory must not be NaN, though it
  // is multiplied by zeros.
  __device__ void clear_missing(int i) const {
    const int count = runs_ - (first_block_ + i) * 8;
    if (count >= 8) return;
    std::byte* const base = stage(i) + Shape::kInputBytes + warp_ * Shape::kBlockBytes;
    const auto clear = [&](int64_t begin, int64_t end) {
      for (int64_t at = begin + lane_; at < end; at += 32)
        base[at] = std::byte{0};
    };
    if (!Facts::kInBlocks) clear(count * Facts::kInfo.scale_bytes, 8 * Facts::kInfo.scale_bytes);
    clear(kShape.scales + count * kShape.run, kShape.scales + 8 * kShape.run);
    __syncwarp();
  }

  // A block's products: the tensor cores multiply a run while the next is decoded.
  __device__ void add_block(int i, float (&total)[kTokens / 2]) const {
    using Codes = typename Facts::Codes;
    using Scales =
        std::conditional_t<Facts::kInBlocks, BlockHalves<kPacking>, GroupHalves<kPacking>>;
    const int g = lane_ / 4;
    const int t = lane_ % 4;
    const std::byte* base = stage(i) + Shape::kInputBytes + warp_ * Shape::kBlockBytes;
    const uint64_t inputs = matrix_descriptor(shared_address(stage(i)), 16, 1024);
    Scales scales;
    scales.load(base, g, t);
#pragma unroll
    for (int run = 0; run < 8; ++run) {
      Codes codes[2];
      load_two_rows<Codes, Facts::kBits>(base + kShape.scales + run * kShape.run, g, t, codes);
      RunScales own;
      scales.of(run, g, t, own);
      uint32_t a[2][4];
      decode_run<kPacking, Pairing::kApart>(codes, own, t, a);
      wait_for_products<1>();
      pin(a[0]);
      pin(a[1]);
      warpgroup_fence();
#pragma unroll
      for (int step = 0; step < 2; ++step) {
        const int k = 2 * run + step;
        multiply_rows(
            total, a[step],
            advanced(inputs, static_cast<uint32_t>(k / 4 * Shape::kBoxBytes + k % 4 * 32)));
      }
      close_products();
    }
    wait_for_products<0>();
    pin(total);
  }

  // Four neighbouring rows of a token a thread, in turn with the other blocks of the cluster.
  __device__ void join() const {
    constexpr int kFours = Shape::kRows / 4;
    const int shares = cluster_size();
    const auto* const sums = reinterpret_cast<const float*>(stages_);
    const int first = cluster_rank() * Shape::kComputing + static_cast<int>(threadIdx.x);
    const auto sum_of = [&](int token, int row, float(&sum)[4]) {
      const float4 own = load_from_rank(sums + token * Shape::kLine + row, 0);
      sum[0] = own.x, sum[1] = own.y, sum[2] = own.z, sum[3] = own.w;
      for (int share = 1; share < shares; ++share) {
        const float4 more = load_from_rank(sums + token * Shape::kLine + row, share);
        sum[0] += more.x;
        sum[1] += more.y;
        sum[2] += more.z;
        sum[3] += more.w;
      }
    };
    if (parts_.gating.is_on) return join_gated(first, shares * Shape::kComputing, sum_of);
    for (int index = first; index < tokens_ * kFours; index += shares * Shape::kComputing) {
      const int token = index / kFours;
      const int row = index % kFours * 4;
      const int panel = first_panel_ + row / kPanelRows;
      if (panel >= panels_) continue;
      float sum[4];
      sum_of(token, row, sum);
      const TilePlace place = find_panel(panel);
#pragma unroll
      for (int i = 0; i < 4; ++i)
        write_output(parts_, place, row % kPanelRows + i, first_token_ + token, sum[i]);
    }
  }

  // Rows of gate and the same of up, which are a panel further on.
  template <class SumOf>
  __device__ void join_gated(int first, int step, const SumOf& sum_of) const {
    constexpr int kFours = Shape::kRows / 2 / 4;
    constexpr int kFoursOfPanel = kPanelRows / 4;
    for (int index = first; index < tokens_ * kFours; index += step) {
      const int token = index / kFours;
      const int pair = index % kFours / kFoursOfPanel;
      const int own = index % kFoursOfPanel * 4;
      const int panel = first_panel_ + 2 * pair;
      if (panel >= panels_) continue;
      const int row = find_panel(panel).tile * kPanelRows + own;
      const int left = parts_.part[0].rows - row;
      if (left <= 0) continue;
      float gate[4];
      float up[4];
      sum_of(token, 2 * pair * kPanelRows + own, gate);
      sum_of(token, (2 * pair + 1) * kPanelRows + own, up);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int own_row = min(row + i, parts_.part[0].rows - 1);
        gate[i] = gated(finish_sum(parts_, {0, own_row}, first_token_ + token, gate[i]),
                        finish_sum(parts_, {1, own_row}, first_token_ + token, up[i]));
      }
      store_gated(parts_, first_token_ + token, row, left, gate);
    }
  }

  const LinearParts& parts_;
  const CUtensorMap& inputs_;
  std::byte* stages_;  // each: boxes of 64 columns by kTokens, then panels
  uint32_t full_;
  uint32_t used_;
  int runs_;
  int panels_;
  int first_panel_;
  int first_token_;
  int tokens_;
  int warp_;
  int lane_;
  int first_block_;
  int blocks_;
};

template <Packing kPacking, int kTokens>
__global__ void __launch_bounds__(WarpgroupsShape<kPacking, kTokens>::kThreads, 1)
    linear_warpgroups_kernel([[maybe_unused]] const __grid_constant__ LinearParts parts,
                             [[maybe_unused]] const __grid_constant__ CUtensorMap inputs,
                             [[maybe_unused]] int tokens) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  using Work = Warpgroups<kPacking, kTokens>;
  extern __shared__ uint8_t memory[];
  __shared__ typename Work::Barriers barriers;
  constexpr uint32_t kUnit = WarpgroupsShape<kPacking, kTokens>::kUnit;
  uint8_t* const aligned = memory + (kUnit - shared_address(memory) % kUnit) % kUnit;
  Work(parts, inputs, tokens, aligned, barriers).run();
#endif
}

template <Packing kPacking, int kTokens>
bool launch_warpgroups_tokens(const LinearParts& parts, const FloatInput& x,
                              const WarpgroupsGrid& grid, Stream stream) {
  CUtensorMap inputs;
  if (!map_pages({static_cast<const std::byte*>(x.values), static_cast<int32_t>(x.stride), x.tokens,
                  x.tokens * x.stride * 2},
                 kTokens, inputs))
    return false;
  using Shape = WarpgroupsShape<kPacking, kTokens>;
  launch_early(linear_warpgroups_kernel<kPacking, kTokens>,
               {dim3(grid.shares, grid.tiles, grid.groups), Shape::kThreads, size_t{Shape::kBytes},
                grid.shares},
               stream, parts, inputs, x.tokens);
  return true;
}

template <Packing kPacking>
bool launch_warpgroups(const LinearParts& parts, const FloatInput& x, Stream stream) {
  const WarpgroupsGrid grid = warpgroups_grid(parts, x.tokens);
  if (grid.tokens == 32) return launch_warpgroups_tokens<kPacking, 32>(parts, x, grid, stream);
  if (grid.tokens == 64) return launch_warpgroups_tokens<kPacking, 64>(parts, x, grid, stream);
  return launch_warpgroups_tokens<kPacking, 128>(parts, x, grid, stream);
}

}  // namespace ingot::cuda
