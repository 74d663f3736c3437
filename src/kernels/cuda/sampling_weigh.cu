// SPDX-License-Identifier: Apache-2.0
// Weights of whole rows, summed over blocks of 64: for a nucleus or a report its total, for a draw
// without cuts what is drawn from. A warp takes a block of 64 at a time; several thread blocks
// share a row.
#include "kernels/cuda/sampling_row.cuh"

namespace ingot::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;

__global__ __launch_bounds__(kThreads) void weigh_kernel(
    const __grid_constant__ SamplingPass pass) {
  const int index = static_cast<int>(blockIdx.y);
  const RowPlan& plan = pass.plans[index];
  const bool is_drawn = plan.kind == RowKind::kDrawn;
  if (is_drawn && plan.top_k > 0) return;  // only its few best are ever weighed
  const RowKey key = pass.tops[index];
  if (!is_number(key)) return;
  const float top = logit_of(key);
  const bool has_nucleus = is_drawn && plan.top_p < 1;
  const float floor = is_drawn && !has_nucleus ? min_p_floor(plan, top) : -kInfinity;
  const float scale = !is_drawn ? 1.0f : (has_nucleus ? plan.top_p_scale : plan.scale);
  const RowView row = view_of(pass, plan);
  const int blocks = row.blocks();
  const int each = (blocks + pass.parts - 1) / pass.parts;
  const int first = static_cast<int>(blockIdx.x) * each;
  const int end = min(first + each, blocks);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  float* sums = pass.block_sums + static_cast<int64_t>(index) * blocks;
#pragma unroll 4
  for (int block = first + static_cast<int>(threadIdx.x) / 32; block < end; block += kWarps) {
    float weights[2];
    for (int half = 0; half < 2; ++half) {
      const int i = block * kRowBlock + half * 32 + lane;
      const float x = i < row.vocab ? row.at(i) : -kInfinity;
      weights[half] = x >= floor ? weight_of(x, top, scale) : 0.0f;
    }
    const float sum = sum_row_block(weights[0], weights[1]);
    if (lane == 0) sums[block] = sum;
  }
}

}  // namespace

void weigh_rows(const SamplingPass& pass, Stream stream) {
  const dim3 grid(static_cast<unsigned>(pass.parts), static_cast<unsigned>(pass.searched));
  weigh_kernel<<<grid, kThreads, 0, stream>>>(pass);
}

}  // namespace ingot::cuda
