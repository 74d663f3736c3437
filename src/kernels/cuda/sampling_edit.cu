// SPDX-License-Identifier: Apache-2.0
// Biases and penalties, in place: one thread block a row, one thread for each token that is edited.
// What was there is kept, as logprobs are of the model's own logits.
#include "kernels/cuda/sampling.h"

namespace ingot::cuda {
namespace {

constexpr int kThreads = 128;

template <bool kIsUndone>
__global__ __launch_bounds__(kThreads) void edit_kernel(const __grid_constant__ SamplingPass pass) {
  const RowPlan& plan = pass.plans[blockIdx.x];
  const LogitEdit* edits = pass.edits + plan.first_edit;
  float* saved = pass.saved_logits + plan.first_edit;
  float* x = pass.logits + static_cast<int64_t>(plan.row) * pass.vocab;
  for (int i = static_cast<int>(threadIdx.x); i < plan.edits; i += kThreads) {
    const int id = edits[i].id;
    if (i > 0 && edits[i - 1].id == id) continue;  // done with the first of them
    if (kIsUndone) {
      x[id] = saved[i];
      continue;
    }
    float value = x[id];
    saved[i] = value;
    for (int j = i; j < plan.edits && edits[j].id == id; ++j) {
      value = value > 0 ? __fdiv_rn(value, edits[j].factor) : __fmul_rn(value, edits[j].factor);
      value = __fadd_rn(value, edits[j].addend);
    }
    x[id] = value;
  }
}

}  // namespace

void apply_edits(const SamplingPass& pass, Stream stream) {
  edit_kernel<false><<<static_cast<unsigned>(pass.count), kThreads, 0, stream>>>(pass);
}

void undo_edits(const SamplingPass& pass, Stream stream) {
  edit_kernel<true><<<static_cast<unsigned>(pass.count), kThreads, 0, stream>>>(pass);
}

}  // namespace ingot::cuda
