// SPDX-License-Identifier: Apache-2.0
// The warp of linear_rows_sm90.cuh's kernel that fetches: a box of weights and a box of inputs a
// step, with the tokens' scales of 128 columns where there are such, as far ahead as there are
// stages. Boxes that other blocks of the cluster need too are fetched in parts, each for all of
// them; a stage is free when all that this block sends to have used it. One lane asks; a stage's
// barrier counts what arrives.
#pragma once

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/mma.cuh"
#include "kernels/cuda/rows_task_sm90.cuh"
#include "kernels/cuda/tensor_copy.cuh"
#include "kernels/cuda/wgmma.cuh"

namespace ingot::cuda {

template <class Facts, int kTokens>
class RowsFetch {
  using Shape = RowsShape<Facts, kTokens>;
  using Memory = RowsMemory<Facts, kTokens>;
  using Ring = RingPlace<Shape::kStages>;

 public:
  __device__ RowsFetch(const RowsTask& task, Memory& memory, uint32_t stages)
      : task_(task),
        place_(memory.place),
        stages_(stages),
        full_(shared_address(memory.full)),
        used_(shared_address(memory.used)),
        is_asking_(threadIdx.x % 32 == 0),
        weight_rows_(weight_box_rows(task.parts, task.cluster)),
        weight_boxes_(kTaskRows / task.cluster.token_tiles / weight_rows_),
        input_rows_(kTokens / task.cluster.row_tiles) {
    if (is_asking_) prefetch_map(task.inputs);
    for (int i = 0; i < task.cluster.token_tiles; ++i)
      weight_ranks_ |= 1u << rank_of(task.cluster, place_.row_tile, i, place_.share);
    for (int i = 0; i < task.cluster.row_tiles; ++i)
      input_ranks_ |= 1u << rank_of(task.cluster, i, place_.token_tile, place_.share);
    if constexpr (Facts::kHasSpans) {
      span_scales_ = shared_address(memory.span_scales);
      span_bytes_ = 4 * min(kTokens, task.x.tiles.each - place_.first_token);
    }
  }

  // A whole warp.
  __device__ void run() const {
    const int ahead = min(Shape::kStages, place_.steps);
    // Weights do not depend on other kernels.
    for (int i = 0; i < ahead; ++i)
      send_weights(i, i);
    wait_for_inputs();
    for (int i = 0; i < ahead; ++i)
      send_inputs(i, i);
    Ring at;
    for (int i = Shape::kStages; i < place_.steps; ++i) {
      wait_for_phase(used_ + 8 * at.stage, at.parity);
      send_weights(i, at.stage);
      send_inputs(i, at.stage);
      at.advance();
    }
    __syncwarp();
  }

 private:
  __device__ int first_byte(int i) const { return (place_.first_step + i) * kBoxWidth; }

  // Begins a stage: says what will arrive in all.
  __device__ void send_weights(int i, int stage) const {
    if (!is_asking_) return;
    arrive_expecting(full_ + 8 * stage,
                     static_cast<uint32_t>(Shape::kWeightBytes + Shape::kInputBytes + span_bytes_));
#pragma unroll
    for (int box = 0; box < (Facts::kIsGated ? 2 : 1); ++box) {
      if (Facts::kIsGated && box == weight_boxes_) break;
      const int first = weight_rows_ * (place_.token_tile * weight_boxes_ + box);
      const RowPlace from = row_at<Facts>(place_, first);
      send(weight_ranks_, task_.cluster.token_tiles, task_.weights[from.part],
           {first_byte(i), from.row}, stages_ + stage * Shape::kStageBytes + first * kBoxWidth,
           full_ + 8 * stage);
    }
  }
  __device__ void send_inputs(int i, int stage) const {
    if (!is_asking_) return;
    const int first = input_rows_ * place_.row_tile;
    send(input_ranks_, task_.cluster.row_tiles, task_.inputs,
         {first_byte(i), place_.first_token + first},
         stages_ + stage * Shape::kStageBytes + Shape::kWeightBytes + first * kBoxWidth,
         full_ + 8 * stage);
    if constexpr (Facts::kHasSpans) {
      // A step is a span; tokens are filled up to sixteens, so that places are multiples of 16.
      const int64_t from =
          static_cast<int64_t>(place_.first_step + i) * task_.x.tiles.each + place_.first_token;
      copy_bytes(span_scales_ + stage * kTokens * 4, task_.x.scales + from,
                 static_cast<uint32_t>(span_bytes_), full_ + 8 * stage);
    }
  }

  // To `count` blocks.
  static __device__ void send(uint32_t ranks, int count, const CUtensorMap& map, MatrixPlace place,
                              uint32_t to, uint32_t barrier) {
    if (count == 1) {
      copy_matrix_box(map, place, to, barrier);
    } else {
      copy_matrix_box_to(ranks, map, place, to, barrier);
    }
  }

  const RowsTask& task_;
  const RowsPlace place_;
  uint32_t stages_;
  uint32_t full_;
  uint32_t used_;
  bool is_asking_;
  int weight_rows_;   // of a box
  int weight_boxes_;  // that this block fetches
  int input_rows_;
  uint32_t weight_ranks_ = 0;  // that need them
  uint32_t input_ranks_ = 0;
  uint32_t span_scales_ = 0;
  int span_bytes_ = 0;
};

}  // namespace ingot::cuda
