// SPDX-License-Identifier: Apache-2.0
// Rows of floats as numbers: some of a table's in f32, and all of e4m3 in bf16 for the library.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "kernels/cuda/decode.h"
#include "kernels/cuda/named_rows.cuh"

namespace ingot::cuda {
namespace {

template <class Element>
__global__ void gather_kernel(const std::byte* table, int64_t row_bytes, int cols, NamedRows rows,
                              float factor, float* out) {
  const int number = number_of(rows, static_cast<int>(blockIdx.y));
  const auto* row = reinterpret_cast<const Element*>(table + number * row_bytes);
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col < cols)
    out[static_cast<int64_t>(blockIdx.y) * cols + col] = static_cast<float>(row[col]) * factor;
}

template <class Element>
void launch_gather(const std::byte* table, int64_t row_bytes, int64_t cols, const NamedRows& rows,
                   float factor, float* out, Stream stream) {
  const dim3 grid(static_cast<unsigned>((cols + 255) / 256), static_cast<unsigned>(rows.count));
  gather_kernel<Element>
      <<<grid, 256, 0, stream>>>(table, row_bytes, static_cast<int>(cols), rows, factor, out);
}

__global__ void decode_e4m3_kernel(const std::byte* codes, int64_t row_bytes, const float* scales,
                                   int64_t spans, int cols, __nv_bfloat16* out) {
  const int64_t row = blockIdx.x;  // there may be more rows than y can count
  const int col = (blockIdx.y * blockDim.x + threadIdx.x) * 2;
  if (col >= cols) return;
  const auto* from = reinterpret_cast<const __nv_fp8_e4m3*>(codes + row * row_bytes);
  const float scale = scales[row * spans + (spans == 1 ? 0 : col / 128)];
  for (int i = 0; i < 2 && col + i < cols; ++i)
    out[row * cols + col + i] = __float2bfloat16(static_cast<float>(from[col + i]) * scale);
}

}  // namespace

void gather_element_rows(ElementType type, const std::byte* table, int64_t row_bytes, int64_t cols,
                         const NamedRows& rows, float factor, float* out, Stream stream) {
  switch (type) {
    case ElementType::kF32:
      return launch_gather<float>(table, row_bytes, cols, rows, factor, out, stream);
    case ElementType::kF16:
      return launch_gather<__half>(table, row_bytes, cols, rows, factor, out, stream);
    case ElementType::kBF16:
      return launch_gather<__nv_bfloat16>(table, row_bytes, cols, rows, factor, out, stream);
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
