// SPDX-License-Identifier: Apache-2.0
// Weights of floats. A block of threads has 16 rows and up to 8 * kTiles tokens; its warps take 128
// columns in turn on tensor cores, lanes as in mma_int8.cuh, and their sums are added in the order
// of warps. Inputs in f32 go through plain fused multiply-adds instead, a row a warp.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "kernels/cuda/cp_async.cuh"
#include "kernels/cuda/decode.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/linear.h"
#include "kernels/cuda/linear_tiles.cuh"

namespace ingot::cuda {
namespace {

constexpr int kWarps = 8;
constexpr int kChunk = 128;  // columns a warp takes at once

template <class Element>
__device__ inline float as_float(Element value) {
  return static_cast<float>(value);
}

__device__ inline void multiply(float (&sum)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3,
                                uint32_t b0, uint32_t b1, __half) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},"
      "{%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
__device__ inline void multiply(float (&sum)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3,
                                uint32_t b0, uint32_t b1, __nv_bfloat16) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},"
      "{%0,%1,%2,%3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

__device__ inline uint32_t widen_e4m3(uint32_t two) {
  const __half2_raw raw =
      __nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(two & 0xFFFF), __NV_E4M3);
  return static_cast<uint32_t>(raw.x) | (static_cast<uint32_t>(raw.y) << 16);
}

constexpr int row_stages(bool is_e4m3) {
  return is_e4m3 ? 4 : 2;
}

template <class Input, bool kIsE4m3, int kTiles>
__global__ void __launch_bounds__(32 * kWarps)
    linear_rows_kernel(const __grid_constant__ LinearParts parts,
                       const __grid_constant__ FloatInput x) {
  // A lane reads 16 bytes of a row at once: a piece of 8 numbers, or 16 of e4m3.
  constexpr int kPiece = kIsE4m3 ? 16 : 8;
  constexpr int kPieces = kChunk / (4 * kPiece);
  constexpr int kElement = kIsE4m3 ? 1 : 2;
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const int g = lane / 4;
  const int t = lane % 4;
  const TilePlace place = find_tile(parts, blockIdx.y, kRowsOfTile);
  const LinearPart& part = parts.part[place.part];
  const int first_row = place.tile * kRowsOfTile;
  const int cols = static_cast<int>(parts.cols);
  const int first_token = blockIdx.x * 8 * kTiles;
  const int row0 = min(first_row + g, part.rows - 1);
  const int row1 = min(first_row + g + 8, part.rows - 1);
  const std::byte* w0 = part.weights + row0 * part.stride;
  const std::byte* w1 = part.weights + row1 * part.stride;
  const int chunks = (cols + kChunk - 1) / kChunk;
  // Every lane fetches what it will read itself: [stage][row, piece][lane] of 16 bytes.
  extern __shared__ uint4 stages[];
  constexpr int kStages = row_stages(kIsE4m3);
  constexpr int kStageWords = 2 * kPieces * 32;
  uint4* const own = stages + warp * kStages * kStageWords + lane;
  const auto own_at = static_cast<uint32_t>(__cvta_generic_to_shared(own));
  const auto fetch = [&](int chunk, int stage) {
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      const int col = chunk * kChunk + i * 4 * kPiece + t * kPiece;
      const bool is_in = chunk < chunks && col < cols;
      const int64_t at = is_in ? col * kElement : 0;
      const uint32_t to = own_at + (stage * kStageWords + i * 32) * 16;
      copy_async_or_zero(to, w0 + at, is_in);
      copy_async_or_zero(to + kPieces * 32 * 16, w1 + at, is_in);
    }
    close_copies();
  };
#pragma unroll
  for (int i = 0; i < kStages; ++i)
    fetch(warp + i * kWarps, i);
  wait_for_inputs();
  const Input* inputs[kTiles];
#pragma unroll
  for (int i = 0; i < kTiles; ++i) {
    const int token = min(first_token + 8 * i + g, x.tokens - 1);
    inputs[i] = static_cast<const Input*>(x.values) + token * x.stride;
  }

  float total[kTiles][4] = {};
  int stage = 0;
  for (int chunk = warp; chunk < chunks; chunk += kWarps) {
    wait_for_copies<kStages - 1>();
    uint4 words[2][kPieces];
#pragma unroll
    for (int i = 0; i < kPieces; ++i) {
      words[0][i] = own[stage * kStageWords + i * 32];
      words[1][i] = own[stage * kStageWords + (kPieces + i) * 32];
    }
    fetch(chunk + kStages * kWarps, stage);
    stage = stage + 1 == kStages ? 0 : stage + 1;
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      float sum[4] = {};
#pragma unroll
      for (int i = 0; i < kPieces; ++i) {
        const int col = chunk * kChunk + i * 4 * kPiece + t * kPiece;
        const bool is_in = col < cols;
        const uint32_t a[2][4] = {{words[0][i].x, words[0][i].y, words[0][i].z, words[0][i].w},
                                  {words[1][i].x, words[1][i].y, words[1][i].z, words[1][i].w}};
        const auto* from = reinterpret_cast<const uint4*>(inputs[tile] + col);
        if constexpr (kIsE4m3) {
          const uint4 b0 = is_in ? from[0] : uint4{};
          const uint4 b1 = is_in ? from[1] : uint4{};
          const uint32_t b[8] = {b0.x, b0.y, b0.z, b0.w, b1.x, b1.y, b1.z, b1.w};
#pragma unroll
          for (int k = 0; k < 4; ++k) {
            multiply(sum, widen_e4m3(a[0][k]), widen_e4m3(a[1][k]), widen_e4m3(a[0][k] >> 16),
                     widen_e4m3(a[1][k] >> 16), b[2 * k], b[2 * k + 1], Input{});
          }
        } else {
          const uint4 b = is_in ? from[0] : uint4{};
          multiply(sum, a[0][0], a[1][0], a[0][1], a[1][1], b.x, b.y, Input{});
          multiply(sum, a[0][2], a[1][2], a[0][3], a[1][3], b.z, b.w, Input{});
        }
      }
      float x_scales[2] = {1, 1};
      float w_scales[2] = {1, 1};
      if (kIsE4m3 && x.scales != nullptr) {
        const int last = x.tokens - 1;
        x_scales[0] = x.scales[min(first_token + 8 * tile + 2 * t, last) * x.spans + chunk];
        x_scales[1] = x.scales[min(first_token + 8 * tile + 2 * t + 1, last) * x.spans + chunk];
      }
      if (kIsE4m3) {
        const int64_t span = part.scale_spans == 1 ? 0 : chunk;
        w_scales[0] = part.row_scales[row0 * part.scale_spans + span];
        w_scales[1] = part.row_scales[row1 * part.scale_spans + span];
      }
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        total[tile][k] = kIsE4m3 ? fmaf(w_scales[k / 2] * x_scales[k % 2], sum[k], total[tile][k])
                                 : total[tile][k] + sum[k];
      }
    }
  }
  let_next_begin();

  __shared__ WarpSums<kTiles, kWarps> sums;
  sums.put(total);
  __syncthreads();
  sums.write(parts, place, first_token, x.tokens);
}

// f32 inputs: a warp has one row and eight tokens.
constexpr int kExactTokens = 8;
template <class Weight, bool kIsScaled>
__global__ void __launch_bounds__(32 * kWarps)
    linear_exact_kernel(const __grid_constant__ LinearParts parts,
                        const __grid_constant__ FloatInput x) {
  const int warp = threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  const TilePlace place = find_tile(parts, blockIdx.y, kWarps);
  const LinearPart& part = parts.part[place.part];
  const int row = place.tile * kWarps + warp;
  if (row >= part.rows) return;
  const int first_token = blockIdx.x * kExactTokens;
  const auto* weights = reinterpret_cast<const Weight*>(part.weights + row * part.stride);
  const auto* inputs = static_cast<const float*>(x.values);
  float total[kExactTokens] = {};
  for (int col = lane; col < parts.cols; col += 32) {
    float weight = as_float(weights[col]);
    if constexpr (kIsScaled) {
      weight *=
          part.row_scales[row * part.scale_spans + (part.scale_spans == 1 ? 0 : col / kChunk)];
    }
#pragma unroll
    for (int i = 0; i < kExactTokens; ++i) {
      const int64_t token = min(first_token + i, x.tokens - 1);
      total[i] = fmaf(weight, inputs[token * x.stride + col], total[i]);
    }
  }
#pragma unroll
  for (int i = 0; i < kExactTokens; ++i) {
    for (int offset = 16; offset > 0; offset /= 2)
      total[i] += __shfl_xor_sync(0xFFFFFFFF, total[i], offset);
    if (lane == 0 && first_token + i < x.tokens) {
      const float sum = total[i] * parts.scale;
      part.y[(first_token + i) * part.y_stride + row] =
          part.bias == nullptr ? sum : sum + part.bias[row];
    }
  }
}

template <class Weight, bool kIsScaled>
void launch_exact(const LinearParts& parts, const FloatInput& x, Stream stream) {
  const dim3 grid((x.tokens + kExactTokens - 1) / kExactTokens, tiles_of(parts, kWarps));
  linear_exact_kernel<Weight, kIsScaled><<<grid, 32 * kWarps, 0, stream>>>(parts, x);
}

template <class Input, bool kIsE4m3>
void launch_rows(const LinearParts& parts, const FloatInput& x, Stream stream) {
  constexpr size_t kStageBytes = 16 * kChunk * (kIsE4m3 ? 1 : 2);  // a warp's rows and columns
  const size_t shared = kWarps * row_stages(kIsE4m3) * kStageBytes;
  constexpr int kTiles = 4;
  const bool is_one = x.tokens <= 8;
  const unsigned tiles = is_one ? 1 : (x.tokens + 8 * kTiles - 1) / (8 * kTiles);
  const LaunchShape shape{dim3(tiles, tiles_of(parts, kRowsOfTile)), 32 * kWarps, shared};
  launch_early(
      is_one ? linear_rows_kernel<Input, kIsE4m3, 1> : linear_rows_kernel<Input, kIsE4m3, kTiles>,
      shape, stream, parts, x);
}

template <class Element>
__global__ void gather_kernel(const std::byte* table, int64_t row_bytes, int cols,
                              const int32_t* rows, float factor, float* out) {
  const auto* row = reinterpret_cast<const Element*>(table + rows[blockIdx.y] * row_bytes);
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col < cols) out[static_cast<int64_t>(blockIdx.y) * cols + col] = as_float(row[col]) * factor;
}

template <class Element>
void launch_gather(const std::byte* table, int64_t row_bytes, int64_t cols, const int32_t* rows,
                   int32_t count, float factor, float* out, Stream stream) {
  const dim3 grid(static_cast<unsigned>((cols + 255) / 256), static_cast<unsigned>(count));
  gather_kernel<Element>
      <<<grid, 256, 0, stream>>>(table, row_bytes, static_cast<int>(cols), rows, factor, out);
}

__global__ void decode_e4m3_kernel(const std::byte* codes, int64_t row_bytes, const float* scales,
                                   int64_t spans, int cols, __nv_bfloat16* out) {
  const int64_t row = blockIdx.x;  // there may be more rows than y can count
  const int col = (blockIdx.y * blockDim.x + threadIdx.x) * 2;
  if (col >= cols) return;
  const auto* from = reinterpret_cast<const __nv_fp8_e4m3*>(codes + row * row_bytes);
  const float scale = scales[row * spans + (spans == 1 ? 0 : col / kChunk)];
  for (int i = 0; i < 2 && col + i < cols; ++i)
    out[row * cols + col + i] = __float2bfloat16(as_float(from[col + i]) * scale);
}

}  // namespace

void linear_rows(ElementType type, const LinearParts& parts, const FloatInput& x, Stream stream) {
  if (x.type == ElementType::kF32) {
    switch (type) {
      case ElementType::kF32:
        return launch_exact<float, false>(parts, x, stream);
      case ElementType::kF16:
        return launch_exact<__half, false>(parts, x, stream);
      case ElementType::kBF16:
        return launch_exact<__nv_bfloat16, false>(parts, x, stream);
      case ElementType::kE4M3:
        return launch_exact<__nv_fp8_e4m3, true>(parts, x, stream);
      case ElementType::kInt8:
        return;  // has inputs of its own
    }
  }
  switch (type) {
    case ElementType::kF16:
      return launch_rows<__half, false>(parts, x, stream);
    case ElementType::kBF16:
      return launch_rows<__nv_bfloat16, false>(parts, x, stream);
    case ElementType::kE4M3:
      return launch_rows<__half, true>(parts, x, stream);
    case ElementType::kInt8:
      return linear_int8(parts, x, stream);
    case ElementType::kF32:
      return;
  }
}

void gather_element_rows(ElementType type, const std::byte* table, int64_t row_bytes, int64_t cols,
                         const int32_t* rows, int32_t count, float factor, float* out,
                         Stream stream) {
  switch (type) {
    case ElementType::kF32:
      return launch_gather<float>(table, row_bytes, cols, rows, count, factor, out, stream);
    case ElementType::kF16:
      return launch_gather<__half>(table, row_bytes, cols, rows, count, factor, out, stream);
    case ElementType::kBF16:
      return launch_gather<__nv_bfloat16>(table, row_bytes, cols, rows, count, factor, out, stream);
    case ElementType::kE4M3:
    case ElementType::kInt8:
      return;  // no table is kept so
  }
}

void decode_e4m3(const std::byte* codes, int64_t row_bytes, const float* scales, int64_t spans,
                 int64_t rows, int64_t cols, void* out, Stream stream) {
  const dim3 grid(static_cast<unsigned>(rows), static_cast<unsigned>((cols + 511) / 512));
  decode_e4m3_kernel<<<grid, 256, 0, stream>>>(
      codes, row_bytes, scales, spans, static_cast<int>(cols), static_cast<__nv_bfloat16*>(out));
}

}  // namespace ingot::cuda
