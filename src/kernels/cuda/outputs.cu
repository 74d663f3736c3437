// SPDX-License-Identifier: Apache-2.0
// A thread has one row of the weight and goes through tokens, whose outputs lie apart: a warp reads
// and writes 128 bytes in a row.
#include "kernels/cuda/outputs.cuh"
#include "kernels/cuda/outputs.h"

namespace ingot::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kTokens = 4;

template <class Sum>
__global__ void __launch_bounds__(kThreads)
    finish_sums_kernel(const __grid_constant__ SumRows args) {
  const int row = blockIdx.x * kThreads + threadIdx.x;
  if (row >= args.rows) return;
  OutputScales scales{};
  scales.row = args.row_scales[row];
  if (args.shifts != nullptr) scales.row_sum = args.row_sums[row];
  if (args.bias != nullptr) scales.bias = args.bias[row];
  const int first = blockIdx.y * kTokens;
#pragma unroll
  for (int i = 0; i < kTokens; ++i) {
    const int64_t token = first + i;
    if (token >= args.tokens) return;
    scales.token = args.token_scales[token];
    if (args.shifts != nullptr) scales.shift = args.shifts[token];
    float* const y = args.y + token * args.stride + row;
    *y = output_of(static_cast<float>(*reinterpret_cast<const Sum*>(y)), scales);
  }
}

template <class Sum>
void launch(const SumRows& args, Stream stream) {
  const dim3 grid(static_cast<unsigned>((args.rows + kThreads - 1) / kThreads),
                  static_cast<unsigned>((args.tokens + kTokens - 1) / kTokens));
  finish_sums_kernel<Sum><<<grid, kThreads, 0, stream>>>(args);
}

}  // namespace

void finish_whole_sums(const SumRows& args, Stream stream) {
  launch<int32_t>(args, stream);
}

void finish_float_sums(const SumRows& args, Stream stream) {
  launch<float>(args, stream);
}

}  // namespace ingot::cuda
