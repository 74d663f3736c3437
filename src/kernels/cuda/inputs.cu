// SPDX-License-Identifier: Apache-2.0
// Inputs packed one column a thread: any order and number of columns.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <type_traits>

#include "kernels/cuda/byte_rows.cuh"
#include "kernels/cuda/input_rounding.cuh"
#include "kernels/cuda/inputs.h"

namespace ingot::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kRowThreads = 1024;       // where a block of threads has a whole row
constexpr float kSmallest = 0x1p-120f;  // of bytes' groups: as on the CPU

__device__ inline float input_at(const InputRows& in, int token, int col) {
  if (col >= in.cols) return 0;
  const int from = in.order == nullptr ? col : in.order[col];
  return in.x[token * in.cols + from];
}

// Sums of 16 and of 32 codes: a warp has the 32 columns from `col` on.
__device__ inline void write_sums(const ByteRows& out, int token, int col, int code) {
  const int lane = threadIdx.x % 32;
  int sum = warp_reduce(code, Add{}, 16);
  if (lane % 16 == 0) sum16_at(out, token, col / 16 + lane / 16) = static_cast<int16_t>(sum);
  sum += __shfl_xor_sync(0xFFFFFFFF, sum, 16);
  if (lane == 0) sum32_at(out, token, col / 32) = static_cast<int16_t>(sum);
}

// A warp has 256 columns: eight groups of 32, or one.
template <bool kInBlocks>
__global__ void pack_bytes_kernel(const __grid_constant__ InputRows in,
                                  const __grid_constant__ ByteRows out) {
  const int token = blockIdx.y;
  const int lane = threadIdx.x % 32;
  const int block = blockIdx.x * (kThreads / 32) + threadIdx.x / 32;
  if (block * 8 >= out.runs) return;
  float values[8];
  uint32_t largest_bits[8];
  uint32_t block_bits = 0;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    values[i] = input_at(in, token, block * 256 + i * 32 + lane);
    largest_bits[i] = warp_reduce(magnitude_bits(values[i]), Max{});
    block_bits = max(block_bits, largest_bits[i]);
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const uint32_t bits = kInBlocks ? block_bits : largest_bits[i];
    const float largest = __uint_as_float(bits);
    const bool is_finite = bits < kInfinityBits;
    const bool is_usable = is_finite && largest >= kSmallest;
    const float inverse = is_usable ? 127.0f / largest : 0.0f;
    const int code = is_usable ? __float2int_rn(values[i] * inverse) : 0;
    const int col = block * 256 + i * 32;
    codes_at(out, token, col / 32)[lane] = static_cast<int8_t>(code);
    write_sums(out, token, col, code);
    const float scale =
        is_finite ? (is_usable ? largest / 127.0f : 0.0f) : __uint_as_float(0x7FC00000);
    if (lane == 0 && (!kInBlocks || i == 0)) {
      const int group = kInBlocks ? block : col / 32;
      if (group < out.groups) scale_at(out, token, group) = scale;
    }
  }
}

// Of columns [first, end) of a token, by a whole block of threads.
__device__ inline Scale scale_of(const InputRows& in, const InputQuant& quant, int token, int first,
                                 int end) {
  InputRange range;
  for (int col = first + static_cast<int>(threadIdx.x); col < end;
       col += static_cast<int>(blockDim.x))
    range.take(input_at(in, token, col));
  __syncthreads();  // what the call before left has been read
  if (quant.kind == InputKind::kInt8) return range.of_block<true>(quant).scale<true>(quant);
  return range.of_block<false>(quant).scale<false>(quant);
}

// Calls round(col, value, scale) for every column of a token, and close(first, end, scale) for
// every run of columns with one scale; by a whole block of threads.
template <class Round, class Close>
__device__ inline void round_row(const InputRows& in, const InputQuant& quant, int token,
                                 const Round& round, const Close& close) {
  const int cols = static_cast<int>(in.cols);
  const bool is_whole = quant.kind == InputKind::kInt8 || quant.block == 0;
  const int width = is_whole ? cols : static_cast<int>(quant.block);
  for (int first = 0; first < cols; first += width) {
    const int end = min(first + width, cols);
    const Scale scale = scale_of(in, quant, token, first, end);
    for (int col = first + static_cast<int>(threadIdx.x); col < end;
         col += static_cast<int>(blockDim.x))
      round(col, input_at(in, token, col), scale);
    close(first, end, scale);
  }
}

__global__ void pack_int8_kernel(const __grid_constant__ InputRows in,
                                 const __grid_constant__ InputQuant quant,
                                 const __grid_constant__ ByteRows out, float* shifts) {
  const int token = blockIdx.x;
  const Scale scale = scale_of(in, quant, token, 0, static_cast<int>(in.cols));
  if (threadIdx.x == 0) shifts[token] = scale.scale * scale.zero;
  for (int col = threadIdx.x; col < out.runs * 32; col += kThreads) {
    int code = 0;
    if (col < in.cols) {
      code = static_cast<int>(int8_code(input_at(in, token, col), scale));
    }
    codes_at(out, token, col / 32)[col % 32] = static_cast<int8_t>(code);
    const int first = col - static_cast<int>(threadIdx.x % 32);
    write_sums(out, token, first, code);
    if (threadIdx.x % 32 == 0 && first / 32 < out.groups)
      scale_at(out, token, first / 32) = scale.scale;
  }
}

template <class Element>
__device__ inline Element narrow(float value);
template <>
__device__ inline float narrow<float>(float value) {
  return value;
}
template <>
__device__ inline __half narrow<__half>(float value) {
  // A NaN stays one; numbers too large become the largest.
  return isnan(value) ? __float2half(value)
                      : __float2half(fminf(fmaxf(value, -65504.0f), 65504.0f));
}
template <>
__device__ inline __nv_bfloat16 narrow<__nv_bfloat16>(float value) {
  return __float2bfloat16(value);
}

template <class Element>
__global__ void pack_floats_kernel(const __grid_constant__ InputRows in, Element* out,
                                   int64_t stride, SlotOrder order) {
  const int token = blockIdx.y;
  const int col = blockIdx.x * kThreads + threadIdx.x;
  if (col < stride)
    out[token * stride + slot_of(order, col)] = narrow<Element>(input_at(in, token, col));
}

template <PackedRows::Kind kKind>
__global__ void __launch_bounds__(kRowThreads)
    pack_rounded_kernel(const __grid_constant__ InputRows in,
                        const __grid_constant__ PackedRows out) {
  using Code = std::conditional_t<code_bits(kKind) == 16, uint16_t, uint8_t>;
  const int token = blockIdx.x;
  auto* const codes = static_cast<Code*>(out.values) + token * out.stride;
  round_row(
      in, out.scales.quant, token,
      [&](int col, float value, const Scale& scale) {
        codes[col] = static_cast<Code>(code_of<kKind>(value, scale));
      },
      [&](int first, int end, const Scale& scale) {
        if (first == 0 && threadIdx.x == 0) write_row_scale(out.scales, token, scale);
        for (int span = first / kSpan + static_cast<int>(threadIdx.x); span * kSpan < end;
             span += kRowThreads)
          write_span_scale<kKind>(out.scales, token, span, scale);
      });
  for (int64_t col = in.cols + threadIdx.x; col < out.stride; col += kRowThreads)
    codes[col] = 0;
}

__global__ void __launch_bounds__(kRowThreads)
    round_floats_kernel(const __grid_constant__ InputRows in,
                        const __grid_constant__ InputQuant quant, float* out) {
  const int token = blockIdx.x;
  const bool is_int8 = quant.kind == InputKind::kInt8;
  round_row(
      in, quant, token,
      [&](int col, float value, const Scale& scale) {
        const float rounded = is_int8 ? int8_code(value, scale) - scale.zero
                                      : __half2float(__half(e4m3_value(value, scale)));
        out[token * in.cols + col] = scale.scale * rounded;
      },
      [](int, int, const Scale&) {});
}

template <class Element>
void launch_floats(const InputRows& in, void* out, int64_t stride, SlotOrder order, Stream stream) {
  const dim3 grid(static_cast<unsigned>((stride + kThreads - 1) / kThreads),
                  static_cast<unsigned>(in.tokens));
  pack_floats_kernel<Element>
      <<<grid, kThreads, 0, stream>>>(in, static_cast<Element*>(out), stride, order);
}

}  // namespace

void pack_bytes(const InputRows& in, bool in_blocks, const ByteRows& out, Stream stream) {
  const int64_t blocks = out.runs / 8;
  const dim3 grid(static_cast<unsigned>((blocks + 7) / 8), static_cast<unsigned>(in.tokens));
  if (in_blocks) {
    pack_bytes_kernel<true><<<grid, kThreads, 0, stream>>>(in, out);
  } else {
    pack_bytes_kernel<false><<<grid, kThreads, 0, stream>>>(in, out);
  }
}

void pack_int8(const InputRows& in, const InputQuant& quant, const ByteRows& out, float* shifts,
               Stream stream) {
  pack_int8_kernel<<<in.tokens, kThreads, 0, stream>>>(in, quant, out, shifts);
}

void pack_floats(const InputRows& in, ElementType type, void* out, int64_t stride, SlotOrder order,
                 Stream stream) {
  switch (type) {
    case ElementType::kF32:
      return launch_floats<float>(in, out, stride, order, stream);
    case ElementType::kF16:
      return launch_floats<__half>(in, out, stride, order, stream);
    case ElementType::kBF16:
      return launch_floats<__nv_bfloat16>(in, out, stride, order, stream);
    case ElementType::kE4M3:
    case ElementType::kInt8:
      return;  // have scales: pack_rounded
  }
}

void pack_rounded(const InputRows& in, const PackedRows& out, Stream stream) {
  using Kind = PackedRows::Kind;
  switch (out.kind) {
    case Kind::kE4m3AsF16:
      return pack_rounded_kernel<Kind::kE4m3AsF16><<<in.tokens, kRowThreads, 0, stream>>>(in, out);
    case Kind::kE4m3:
      return pack_rounded_kernel<Kind::kE4m3><<<in.tokens, kRowThreads, 0, stream>>>(in, out);
    case Kind::kInt8:
      return pack_rounded_kernel<Kind::kInt8><<<in.tokens, kRowThreads, 0, stream>>>(in, out);
    case Kind::kNone:
    case Kind::kBytes32:
    case Kind::kBytes256:
    case Kind::kF16:
    case Kind::kBF16:
      return;  // are not rounded
  }
}

void round_floats(const InputRows& in, const InputQuant& quant, float* out, Stream stream) {
  round_floats_kernel<<<in.tokens, kRowThreads, 0, stream>>>(in, quant, out);
}

}  // namespace ingot::cuda
