// SPDX-License-Identifier: Apache-2.0
// Weights in rows by 9 tokens and more on Hopper: two warpgroups have 64 rows each, whose products
// by 16 to 128 tokens the tensor cores make with both factors in shared memory; nothing is decoded,
// and one warp more sends for all of it. Weights are read once for 128 tokens, so that up to there
// the bus is the limit. The blocks of a cluster share the columns, so that the whole device works
// on a weight of few rows, or what they fetch. Facts, of a kind of weights:
//   Element      the tensor cores' type        Sum          what they sum in
//   kIsE4m3      sums of 128 columns are added to others in f32, as the tensor cores keep them with
//                14 bits only                  kHasSpans    and have scales of those columns
//   kScalesSums  rows and tokens have a scale  kHasShifts   and tokens may have a zero point
//   output(sum, scales, factor)
#pragma once

#include "kernels/cuda/cluster.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/rows_fetch_sm90.cuh"
#include "kernels/cuda/rows_finish_sm90.cuh"
#include "kernels/cuda/wgmma_tiles.cuh"

namespace ingot::cuda {

// The scales of the two rows of a thread, of the 128 columns of a step.
class SpanScales {
 public:
  __device__ SpanScales(const LinearPart& part, const RowsPlace& place, int own_row) {
    const bool in_blocks = part.block_scales != nullptr;
    const float* const scales = in_blocks ? part.block_scales : part.row_scales;
    const int64_t stride = in_blocks ? part.block_spans : part.scale_spans;
    step_ = in_blocks || part.scale_spans > 1 ? 1 : 0;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int row = min(place.first_row + own_row + 8 * i, part.rows - 1);
      from_[i] = scales + (in_blocks ? row / kTaskRows : row) * stride + step_ * place.first_step;
    }
  }
  __device__ float2 of(int step) const {
    return make_float2(from_[0][step_ * step], from_[1][step_ * step]);
  }

 private:
  const float* from_[2];
  int step_;
};

template <class Facts, int kTokens>
class RowsCompute {
  using Shape = RowsShape<Facts, kTokens>;
  using Memory = RowsMemory<Facts, kTokens>;
  using Ring = RingPlace<Shape::kStages>;
  using Products = TileProducts<typename Facts::Element>;
  using Sum = typename Facts::Sum;
  using Sums = Sum[Shape::kSums];

 public:
  __device__ RowsCompute(const RowsTask& task, const Memory& memory, uint32_t stages)
      : task_(task),
        memory_(memory),
        steps_(memory.place.steps),
        full_(shared_address(memory.full)),
        own_used_(shared_address(memory.used)),
        used_(used_by(task.cluster, memory.place, own_used_)),
        stages_(stages),
        lane_(static_cast<int>(threadIdx.x) % 32) {}

  __device__ void run(Sums& total) const {
    if constexpr (Facts::kIsE4m3) {
      add_up(total);
    } else {
      sum(total);
    }
  }

 private:
  // A step's products; `c` begins anew unless `is_added`.
  __device__ void multiply(Sums& c, int stage, bool is_added) const {
    const uint32_t from = stages_ + static_cast<uint32_t>(stage * Shape::kStageBytes);
    const uint64_t weights =
        matrix_descriptor(from + threadIdx.x / 128 * (64 * kBoxWidth), 16, 1024);
    const uint64_t inputs = matrix_descriptor(from + Shape::kWeightBytes, 16, 1024);
    warpgroup_fence();
#pragma unroll
    for (int k = 0; k < kBoxWidth / 32; ++k)
      Products::multiply(c, advanced(weights, 32 * k), advanced(inputs, 32 * k), is_added || k > 0);
    close_products();
  }
  // The other blocks that this one's stages are filled by: those of the same rows and of the same
  // tokens. A lane tells one of them. Its own block every lane tells: each has read its scales, and
  // one lane for all takes longer (docs/performance.md).
  static __device__ uint32_t used_by(const RowsCluster& cluster, const RowsPlace& place,
                                     uint32_t used) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if (lane < cluster.token_tiles) {
      if (lane == place.token_tile) return 0;
      return address_in_rank(used, rank_of(cluster, place.row_tile, lane, place.share));
    }
    const int other = lane - cluster.token_tiles;
    if (other >= cluster.row_tiles - 1) return 0;
    const int row_tile = other < place.row_tile ? other : other + 1;
    return address_in_rank(used, rank_of(cluster, row_tile, place.token_tile, place.share));
  }
  __device__ void release(int stage) const {
    arrive(own_used_ + 8 * stage);
    if (used_ != 0) arrive_in_cluster(used_ + 8 * stage);
  }

  // The tensor cores keep the sums, and have a step's products before them while they do the next.
  __device__ void sum(Sums& total) const {
    Ring at;
    int before = 0;
    for (int i = 0; i < steps_; ++i) {
      wait_for_phase(full_ + 8 * at.stage, at.parity);
      multiply(total, at.stage, true);
      wait_for_products<1>();
      if (i > 0) release(before);
      before = at.stage;
      at.advance();
    }
    wait_for_products<0>();
    pin(total);
  }

  // One warpgroup adds while the other's products are made.
  __device__ void add_up(Sums& total) const {
    Ring at;
    const int own_row = static_cast<int>(threadIdx.x) / 32 * 16 + lane_ / 4;
    const SpanScales scales(task_.parts.part[memory_.place.part], memory_.place, own_row);
    float2 next = Facts::kHasSpans ? scales.of(0) : float2{};
    for (int i = 0; i < steps_; ++i) {
      const float2 rows = next;
      if (Facts::kHasSpans && i + 1 < steps_) next = scales.of(i + 1);
      wait_for_phase(full_ + 8 * at.stage, at.parity);
      Sum sums[Shape::kSums];
      multiply(sums, at.stage, false);
      wait_for_products<0>();
      pin(sums);
      if constexpr (Facts::kHasSpans) {
        add_scaled(total, sums, rows, memory_.span_scales[at.stage] + lane_ % 4 * 2);
      } else {
#pragma unroll
        for (int k = 0; k < Shape::kSums; ++k)
          total[k] += sums[k];
      }
      release(at.stage);
      at.advance();
    }
  }
  static __device__ void add_scaled(Sums& total, const Sums& sums, float2 rows,
                                    const float* tokens) {
#pragma unroll
    for (int tile = 0; tile < kTokens / 8; ++tile) {
      const float2 own = *reinterpret_cast<const float2*>(tokens + tile * 8);
      const auto add = [&](int k, float scale) {
        total[4 * tile + k] = fmaf(scale, sums[4 * tile + k], total[4 * tile + k]);
      };
      add(0, rows.x * own.x);
      add(1, rows.x * own.y);
      add(2, rows.y * own.x);
      add(3, rows.y * own.y);
    }
  }

  const RowsTask& task_;
  const Memory& memory_;
  int steps_;
  uint32_t full_;
  uint32_t own_used_;
  uint32_t used_;  // of the block that this lane tells; 0: of none
  uint32_t stages_;
  int lane_;
};

// Tiles behind the last one are the last part's, and have none of its rows.
template <class Facts, int kTokens>
__device__ inline RowsPlace find_place(const RowsTask& task) {
  constexpr int kStepColumns = kBoxWidth / static_cast<int>(sizeof(typename Facts::Element));
  const RowsCluster& cluster = task.cluster;
  RowsPlace place{};
  place.share = cluster_rank() % cluster.shares;
  place.token_tile = cluster_rank() / cluster.shares % cluster.token_tiles;
  place.row_tile = cluster_rank() / (cluster.shares * cluster.token_tiles);
  const TilePlace tile = find_tile<Facts::kIsGated>(
      task.parts, static_cast<int>(blockIdx.z) * cluster.row_tiles + place.row_tile, kTaskRows);
  place.part = tile.part;
  place.first_row = tile.tile * (Facts::kIsGated ? kTaskRows / 2 : kTaskRows);
  place.first_token =
      (static_cast<int>(blockIdx.y) * cluster.token_tiles + place.token_tile) * kTokens;
  place.tokens = min(kTokens, task.x.tokens - place.first_token);
  const int steps = tiles_of(static_cast<int>(task.parts.cols), kStepColumns);
  const int each = tiles_of(steps, cluster.shares);
  place.first_step = place.share * each;
  place.steps = max(0, min(each, steps - place.first_step));
  return place;
}

template <class Facts, int kTokens>
__global__ void __launch_bounds__(kTaskThreads, RowsShape<Facts, kTokens>::kBlocks)
    linear_rows_sm90_kernel([[maybe_unused]] const __grid_constant__ RowsTask task) {
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  using Shape = RowsShape<Facts, kTokens>;
  extern __shared__ uint8_t stages[];
  __shared__ RowsMemory<Facts, kTokens> memory;
  uint8_t* const aligned =
      stages + (Shape::kUnit - shared_address(stages) % Shape::kUnit) % Shape::kUnit;
  const RowsFinish<Facts, kTokens> end(task, memory, reinterpret_cast<float*>(aligned));
  const bool is_computing = threadIdx.x < kTaskComputing;
  const int fetched_for = task.cluster.row_tiles + task.cluster.token_tiles - 1;  // blocks
  if (threadIdx.x == 0) {
    memory.place = find_place<Facts, kTokens>(task);
    for (int i = 0; i < Shape::kStages; ++i) {
      make_barrier(shared_address(memory.full + i), 1);
      make_barrier(shared_address(memory.used + i),
                   static_cast<uint32_t>(stage_users(fetched_for)));
    }
    show_barriers_to_copies();
  }
  if (fetched_for == 1) {
    __syncthreads();
  } else {  // others' barriers are used too
    __syncwarp();
    arrive_at_cluster();
    wait_for_cluster();
  }
  if (is_computing) {
    end.load_rows();
    wait_for_inputs();
    end.load_tokens();
    typename Facts::Sum total[Shape::kSums] = {};
    RowsCompute<Facts, kTokens>(task, memory, shared_address(aligned)).run(total);
    let_next_begin();
    // The stages are everyone's; now they become the place of sums.
    asm volatile("bar.sync 1, %0;" ::"n"(kTaskComputing) : "memory");
    end.put(total);
  } else {
    RowsFetch<Facts, kTokens>(task, memory, shared_address(aligned)).run();
    let_next_begin();
  }
  arrive_at_cluster();
  wait_for_cluster();
  if (is_computing) end.join();
  leave_cluster();  // not while others read these sums
#endif
}

template <class Facts, int kTokens>
void launch_rows_tokens(const RowsTask& task, const RowsGrid& grid, Stream stream) {
  launch_early(linear_rows_sm90_kernel<Facts, kTokens>,
               {dim3(static_cast<unsigned>(grid.cluster.size()),
                     static_cast<unsigned>(tiles_of(grid.token_tiles, grid.cluster.token_tiles)),
                     static_cast<unsigned>(tiles_of(grid.row_tiles, grid.cluster.row_tiles))),
                kTaskThreads, size_t{RowsShape<Facts, kTokens>::kBytes},
                static_cast<unsigned>(grid.cluster.size())},
               stream, task);
}

template <class Facts>
void launch_rows_sm90(const RowsTask& task, const RowsGrid& grid, Stream stream) {
  if constexpr (Facts::kCanGate) {
    if (task.parts.gating.is_on) return launch_rows_sm90<Gated<Facts>>(task, grid, stream);
  }
  switch (grid.tokens) {
    case 16:
      return launch_rows_tokens<Facts, 16>(task, grid, stream);
    case 32:
      return launch_rows_tokens<Facts, 32>(task, grid, stream);
    case 64:
      return launch_rows_tokens<Facts, 64>(task, grid, stream);
    default:
      return launch_rows_tokens<Facts, 128>(task, grid, stream);
  }
}

}  // namespace ingot::cuda
