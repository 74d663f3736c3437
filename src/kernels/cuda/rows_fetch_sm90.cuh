// SPDX-License-Identifier: Apache-2.0
// The warp of linear_rows_sm90.cuh's kernel that fetches: a box of weights and a box of inputs a
// step, with the tokens' scales of 128 columns where there are such, as far ahead as there are
// stages. One lane asks; a stage's barrier counts what arrives.
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
  __device__ RowsFetch(const RowsTask& task, const RowsPlace& place, Memory& memory,
                       uint32_t stages)
      : task_(task),
        place_(place),
        stages_(stages),
        full_(shared_address(memory.full)),
        used_(shared_address(memory.used)),
        is_asking_(threadIdx.x % 32 == 0) {
    if constexpr (Facts::kHasSpans) {
      span_scales_ = shared_address(memory.span_scales);
      span_bytes_ = 4 * min(kTokens, task.x.tiles.each - place.first_token);
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
    copy_matrix_box(task_.weights[place_.part], {first_byte(i), place_.first_row},
                    stages_ + stage * Shape::kStageBytes, full_ + 8 * stage);
  }
  __device__ void send_inputs(int i, int stage) const {
    if (!is_asking_) return;
    copy_matrix_box(task_.inputs, {first_byte(i), place_.first_token},
                    stages_ + stage * Shape::kStageBytes + Shape::kWeightBytes, full_ + 8 * stage);
    if constexpr (Facts::kHasSpans) {
      // A step is a span; tokens are filled up to sixteens, so that places are multiples of 16.
      const int64_t from =
          static_cast<int64_t>(place_.first_step + i) * task_.x.tiles.each + place_.first_token;
      copy_bytes(span_scales_ + stage * kTokens * 4, task_.x.scales + from,
                 static_cast<uint32_t>(span_bytes_), full_ + 8 * stage);
    }
  }

  const RowsTask& task_;
  const RowsPlace& place_;
  uint32_t stages_;
  uint32_t full_;
  uint32_t used_;
  bool is_asking_;
  uint32_t span_scales_ = 0;
  int span_bytes_ = 0;
};

}  // namespace ingot::cuda
