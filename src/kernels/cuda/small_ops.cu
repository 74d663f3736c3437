// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/activation.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/cuda/small_ops.h"

namespace ingot::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void norm_kernel(const __grid_constant__ NormRows args) {
  __shared__ float slots[32];
  const int64_t row = blockIdx.x;
  const float* x = args.x + row * args.dim;
  float* y = args.y + row * args.dim;
  float sum = 0;
  for (int64_t i = threadIdx.x; i < args.dim; i += blockDim.x) {
    float value = x[i];
    if (args.branch != nullptr) {
      value = fmaf(args.factor, args.branch[row * args.dim + i], value);
      args.residual[row * args.dim + i] = value;
    }
    sum += args.is_layer_norm ? value : value * value;
  }
  // Every thread reads again what it wrote itself.
  const float* from = args.branch != nullptr ? args.residual + row * args.dim : x;
  const auto dim = static_cast<float>(args.dim);
  float mean = 0;
  float square = block_reduce(sum, Add{}, slots) / dim;
  if (args.is_layer_norm) {
    mean = square;
    sum = 0;
    for (int64_t i = threadIdx.x; i < args.dim; i += blockDim.x) {
      const float distance = from[i] - mean;
      sum += distance * distance;
    }
    square = block_reduce(sum, Add{}, slots) / dim;
  }
  const float factor = 1.0f / sqrtf(square + args.eps);
  const int64_t weight_row = row % args.weight_rows * args.dim;
  for (int64_t i = threadIdx.x; i < args.dim; i += blockDim.x) {
    float value = (from[i] - mean) * factor;
    if (args.weight != nullptr) value *= args.weight[weight_row + i];
    if (args.bias != nullptr) value += args.bias[weight_row + i];
    y[i] = value;
  }
}

__global__ void rotate_kernel(const __grid_constant__ RotateRows args) {
  let_next_begin();
  wait_for_inputs();
  const int token = blockIdx.y;
  const int index = blockIdx.x * blockDim.x + threadIdx.x;
  int head = index / args.pairs;
  const int pair = index % args.pairs;
  const int which = head < args.heads[0] ? 0 : 1;
  if (which == 1) head -= args.heads[0];
  if (head >= args.heads[which]) return;
  float* x =
      args.x[which] + (static_cast<int64_t>(token) * args.heads[which] + head) * args.head_dim;
  float& first = x[args.in_halves ? pair : 2 * pair];
  float& second = x[args.in_halves ? pair + args.pairs : 2 * pair + 1];
  const float cos = args.cos[token * args.pairs + pair];
  const float sin = args.sin[token * args.pairs + pair];
  const float a = first;
  const float b = second;
  first = a * cos - b * sin;
  second = b * cos + a * sin;
}

__global__ void activate_kernel(Activation kind, const float* gate, const float* up, float* out,
                                int64_t count) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i >= count) return;
  const float value = activated(kind, gate[i]);
  out[i] = up == nullptr ? value : value * up[i];
}

__global__ void add_kernel(float* y, const float* x, float factor, int64_t count) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i < count) y[i] = fmaf(factor, x[i], y[i]);
}

__global__ void clamp_kernel(float* x, float limit, int64_t count) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i < count && !isnan(x[i])) x[i] = fminf(fmaxf(x[i], -limit), limit);
}

__global__ void logits_kernel(float* y, float scale, float cap, int64_t count) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i >= count) return;
  const float value = y[i] * scale;
  y[i] = cap == 0 ? value : cap * tanhf(value / cap);
}

__global__ void add_rows_kernel(float* y, const float* table, const int32_t* rows, int64_t dim) {
  const int64_t row = blockIdx.y;
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i < dim) y[row * dim + i] += table[rows[row] * dim + i];
}

__global__ void copy_rows_kernel(const float* x, const int32_t* rows, int64_t dim, float* out) {
  const int64_t row = blockIdx.y;
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i < dim) out[row * dim + i] = x[rows[row] * dim + i];
}

__global__ void finish_rows_kernel(float* y, int64_t stride, float factor, const float* bias,
                                   int rows) {
  const int64_t token = blockIdx.y;
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  const float value = y[token * stride + row] * factor;
  y[token * stride + row] = bias == nullptr ? value : value + bias[row];
}

unsigned blocks_of(int64_t count) {
  return static_cast<unsigned>((count + kThreads - 1) / kThreads);
}

}  // namespace

void normalize(const NormRows& args, Stream stream) {
  const int threads = args.dim <= 128 ? 32 : (args.dim <= 1024 ? 128 : 512);
  norm_kernel<<<static_cast<unsigned>(args.rows), threads, 0, stream>>>(args);
}

void rotate(const RotateRows& args, Stream stream) {
  const dim3 grid(blocks_of((args.heads[0] + args.heads[1]) * args.pairs),
                  static_cast<unsigned>(args.tokens));
  launch_early(rotate_kernel, {grid, kThreads}, stream, args);
}

void activate(int activation, const float* gate, const float* up, float* out, int64_t count,
              Stream stream) {
  activate_kernel<<<blocks_of(count), kThreads, 0, stream>>>(static_cast<Activation>(activation),
                                                             gate, up, out, count);
}

void add_scaled(float* y, const float* x, float factor, int64_t count, Stream stream) {
  add_kernel<<<blocks_of(count), kThreads, 0, stream>>>(y, x, factor, count);
}

void clamp(float* x, float limit, int64_t count, Stream stream) {
  clamp_kernel<<<blocks_of(count), kThreads, 0, stream>>>(x, limit, count);
}

void finish_logits(float* y, float scale, float cap, int64_t count, Stream stream) {
  logits_kernel<<<blocks_of(count), kThreads, 0, stream>>>(y, scale, cap, count);
}

void add_rows(float* y, const float* table, const int32_t* rows, int32_t count, int64_t dim,
              Stream stream) {
  const dim3 grid(blocks_of(dim), static_cast<unsigned>(count));
  add_rows_kernel<<<grid, kThreads, 0, stream>>>(y, table, rows, dim);
}

void finish_rows(float* y, int64_t stride, float factor, const float* bias, int32_t rows,
                 int32_t tokens, Stream stream) {
  const dim3 grid(blocks_of(rows), static_cast<unsigned>(tokens));
  finish_rows_kernel<<<grid, kThreads, 0, stream>>>(y, stride, factor, bias, rows);
}

void copy_rows(const float* x, const int32_t* rows, int32_t count, int64_t dim, float* out,
               Stream stream) {
  const dim3 grid(blocks_of(dim), static_cast<unsigned>(count));
  copy_rows_kernel<<<grid, kThreads, 0, stream>>>(x, rows, dim, out);
}

}  // namespace ingot::cuda
