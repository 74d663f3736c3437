// SPDX-License-Identifier: Apache-2.0
// The end of linear_rows_sm90.cuh: the sums of a cluster's blocks, each of its share of the
// columns, are added in the order of ranks and become outputs. Sums lie in shared memory, token
// after token; what they are multiplied by is there since the kernel began.
#pragma once

#include <type_traits>

#include "kernels/cuda/cluster.cuh"
#include "kernels/cuda/outputs.cuh"
#include "kernels/cuda/rows_task_sm90.cuh"

namespace ingot::cuda {

__device__ __forceinline__ float as_bits(float sum) {
  return sum;
}
__device__ __forceinline__ float as_bits(int32_t sum) {
  return __int_as_float(sum);
}
template <class Sum>
__device__ __forceinline__ Sum from_bits(float bits) {
  if constexpr (std::is_same_v<Sum, int32_t>)
    return __float_as_int(bits);
  else
    return bits;
}

template <class Facts, int kTokens>
class RowsFinish {
  using Shape = RowsShape<Facts, kTokens>;
  using Memory = RowsMemory<Facts, kTokens>;
  using Sum = typename Facts::Sum;

 public:
  __device__ RowsFinish(const RowsTask& task, Memory& memory, float* sums)
      : task_(task), place_(memory.place), memory_(memory), sums_(sums) {}

  // Of the weights, which no kernel writes. All computing threads, as in the next.
  __device__ void load_rows() const {
    const int own = static_cast<int>(threadIdx.x);
    if (own >= kTaskRows) return;
    const RowPlace at = row_at<Facts>(place_, own);
    const LinearPart& part = task_.parts.part[at.part];
    const int row = min(at.row, part.rows - 1);
    if constexpr (Facts::kScalesSums) memory_.row_scales[own] = part.row_scales[row];
    if (has_shifts()) memory_.row_sums[own] = task_.parts.row_sums[at.part][row];
    memory_.biases[own] = part.bias == nullptr ? 0.0f : part.bias[row];
  }
  // Of the inputs.
  __device__ void load_tokens() const {
    if constexpr (Facts::kScalesSums) {
      const int own = static_cast<int>(threadIdx.x);
      if (own >= place_.tokens) return;
      memory_.token_scales[own] = task_.x.scales[place_.first_token + own];
      if (has_shifts()) memory_.shifts[own] = task_.parts.shifts[place_.first_token + own];
    }
  }

  // Rows g and g + 8 of a warp's sixteen, tokens 2t and 2t + 1 of eight.
  __device__ void put(const Sum (&total)[Shape::kSums]) const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int row = static_cast<int>(threadIdx.x) / 32 * 16 + lane / 4;
    float* const to = sums_ + lane % 4 * 2 * Shape::kLine + row;
#pragma unroll
    for (int tile = 0; tile < kTokens / 8; ++tile) {
#pragma unroll
      for (int k = 0; k < 4; ++k)
        to[(tile * 8 + k % 2) * Shape::kLine + k / 2 * 8] = as_bits(total[tile * 4 + k]);
    }
  }

  // After all blocks' put(): a warp has the rows of a token, four a lane, in turn with the others.
  __device__ void join() const {
    constexpr int kWarps = kTaskComputing / 32;
    const int shares = task_.cluster.shares;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const RowPlace at = row_at<Facts>(place_, 4 * lane);
    const LinearPart& part = task_.parts.part[at.part];
    const int left = part.rows - at.row;
    const bool is_whole =
        left >= 4 &&
        (reinterpret_cast<uintptr_t>(part.y) | static_cast<uintptr_t>(part.y_stride * 4)) % 16 == 0;
    for (int token = place_.share * kWarps + warp; token < place_.tokens;
         token += shares * kWarps) {
      float out[4];
      finish(token, 4 * lane, add(token, 4 * lane, shares), out);
      const int64_t row_of_y = place_.first_token + token;
      if constexpr (Facts::kIsGated) {
        write_gated(row_of_y, at, left, out);
        continue;
      }
      float* const y = part.y + row_of_y * part.y_stride + at.row;
      if (is_whole) {
        *reinterpret_cast<float4*>(y) = make_float4(out[0], out[1], out[2], out[3]);
      } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          if (i < left) y[i] = out[i];
        }
      }
    }
  }

 private:
  // Lanes from the sixteenth on have up's rows. All lanes.
  __device__ void write_gated(int64_t token, RowPlace at, int left, float (&out)[4]) const {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      out[i] = gated(out[i], __shfl_xor_sync(0xFFFFFFFF, out[i], 16));
    if (at.part == 0) store_gated(task_.parts, token, at.row, left, out);
  }

  struct Four {
    Sum of[4];
  };

  __device__ bool has_shifts() const {
    return Facts::kHasShifts && task_.parts.shifts != nullptr;
  }

  // All shares are asked for before one is used.
  __device__ Four add(int token, int row, int shares) const {
    const float* const from = sums_ + token * Shape::kLine + row;
    const int first = cluster_rank() - place_.share;
    float4 bits[kTaskShares];
#pragma unroll
    for (int share = 0; share < kTaskShares; ++share) {
      if (share < shares) bits[share] = load_from_rank(from, first + share);
    }
    Four sum{from_bits<Sum>(bits[0].x), from_bits<Sum>(bits[0].y), from_bits<Sum>(bits[0].z),
             from_bits<Sum>(bits[0].w)};
#pragma unroll
    for (int share = 1; share < kTaskShares; ++share) {
      if (share >= shares) continue;
      sum.of[0] += from_bits<Sum>(bits[share].x);
      sum.of[1] += from_bits<Sum>(bits[share].y);
      sum.of[2] += from_bits<Sum>(bits[share].z);
      sum.of[3] += from_bits<Sum>(bits[share].w);
    }
    return sum;
  }

  __device__ void finish(int token, int row, const Four& sum, float (&out)[4]) const {
    OutputScales scales{};
    if constexpr (Facts::kScalesSums) scales.token = memory_.token_scales[token];
    if (has_shifts()) scales.shift = memory_.shifts[token];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if constexpr (Facts::kScalesSums) scales.row = memory_.row_scales[row + i];
      if (has_shifts()) scales.row_sum = memory_.row_sums[row + i];
      scales.bias = memory_.biases[row + i];
      out[i] = Facts::output(sum.of[i], scales, task_.parts.scale);
    }
  }

  const RowsTask& task_;
  const RowsPlace& place_;
  Memory& memory_;
  float* sums_;
};

}  // namespace ingot::cuda
