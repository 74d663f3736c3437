// SPDX-License-Identifier: Apache-2.0
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "kernels/cuda/byte_rows.cuh"
#include "kernels/cuda/inputs.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/reduce.cuh"

namespace ingot::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kRowThreads = 1024;            // where a block of threads has a whole row
constexpr float kSmallest = 0x1p-120f;       // of bytes' groups: as on the CPU
constexpr float kSmallestInput = 0x1p-110f;  // of rounded inputs
constexpr uint32_t kInfinityBits = 0x7F800000;

__device__ inline int threads() {
  return static_cast<int>(blockDim.x);
}
__device__ inline float input_at(const InputRows& in, int token, int col) {
  if (col >= in.cols) return 0;
  const int from = in.order == nullptr ? col : in.order[col];
  return in.x[token * in.cols + from];
}
__device__ inline uint32_t magnitude_bits(float value) {
  return __float_as_uint(value) & 0x7FFFFFFFu;
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

struct Scale {
  float scale;
  float zero;
  bool is_usable;
};

// As kernels/input_scale.h.
__device__ inline Scale input_scale(const InputQuant& quant, uint32_t bits, float least,
                                    float most) {
  if (bits >= kInfinityBits) return {__uint_as_float(0x7FC00000), 0, false};
  if (quant.scale > 0) return {quant.scale, static_cast<float>(quant.zero), true};
  float largest = __uint_as_float(bits);
  if (largest < kSmallestInput) return {0, 0, false};
  if (quant.limit > 0 && largest > quant.limit) largest = quant.limit;
  if (quant.kind == InputKind::kInt8 && !quant.is_symmetric) {
    least = least < 0 ? least : 0;
    most = most > 0 ? most : 0;
    const float scale = (most - least) / 255;
    return {scale, -128 - rintf(least / scale), true};
  }
  float scale = largest / (quant.kind == InputKind::kInt8 ? 127.0f : 448.0f);
  if (quant.has_powers) scale = __uint_as_float((__float_as_uint(scale) + 0x7FFFFF) & 0xFF800000u);
  return {scale, 0, true};
}

// Of columns [first, end) of a token, by a whole block of threads.
__device__ inline Scale scale_of(const InputRows& in, const InputQuant& quant, int token, int first,
                                 int end) {
  __shared__ uint32_t bit_slots[32];
  __shared__ float slots[32];
  uint32_t bits = 0;
  float least = 0;
  float most = 0;
  for (int col = first + static_cast<int>(threadIdx.x); col < end; col += threads()) {
    const float value = input_at(in, token, col);
    bits = max(bits, magnitude_bits(value));
    least = fminf(least, value);
    most = fmaxf(most, value);
  }
  bits = block_reduce(bits, Max{}, bit_slots);
  if (quant.kind == InputKind::kInt8 && !quant.is_symmetric) {
    least = block_reduce(least, Min{}, slots);
    most = block_reduce(most, Max{}, slots);
  }
  return input_scale(quant, bits, least, most);
}

__device__ inline float int8_code(float x, const Scale& scale) {
  const float code = fminf(fmaxf(x / scale.scale, -512.0f), 512.0f);
  return fminf(fmaxf(rintf(code) + scale.zero, -128.0f), 127.0f);
}
__device__ inline __nv_fp8_storage_t e4m3_code(float x, const Scale& scale) {
  if (!scale.is_usable) return 0;
  return __nv_cvt_float_to_fp8(x / scale.scale, __NV_SATFINITE, __NV_E4M3);
}
__device__ inline __half e4m3_value(float x, const Scale& scale) {
  return __half(__nv_cvt_fp8_to_halfraw(e4m3_code(x, scale), __NV_E4M3));
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
      const float value = scale.is_usable ? int8_code(input_at(in, token, col), scale) : scale.zero;
      code = static_cast<int>(value);
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
                                   int64_t stride) {
  const int token = blockIdx.y;
  const int col = blockIdx.x * kThreads + threadIdx.x;
  if (col < stride) out[token * stride + col] = narrow<Element>(input_at(in, token, col));
}

__global__ void pack_e4m3_kernel(const __grid_constant__ InputRows in,
                                 const __grid_constant__ InputQuant quant, __half* out,
                                 int64_t stride, float* scales, int64_t spans) {
  let_next_begin();
  wait_for_inputs();
  const int token = blockIdx.x;
  const int cols = static_cast<int>(in.cols);
  const int width = quant.block > 0 ? static_cast<int>(quant.block) : cols;
  for (int first = 0; first < cols; first += width) {
    const int end = min(first + width, cols);
    const Scale scale = scale_of(in, quant, token, first, end);
    for (int col = first + threadIdx.x; col < end; col += threads())
      out[token * stride + col] = e4m3_value(input_at(in, token, col), scale);
    for (int span = first / 128 + threadIdx.x; span * 128 < end; span += threads())
      scales[token * spans + span] = scale.scale;
  }
  for (int col = cols + threadIdx.x; col < stride; col += threads())
    out[token * stride + col] = __half(0.0f);
}

__device__ inline float& span_scale(const CodeRows& out, int tokens, int token, int span) {
  const int tile = token / out.tiles.each;
  const int64_t width = tile == tokens / out.tiles.each ? out.tiles.last : out.tiles.each;
  const int64_t before = static_cast<int64_t>(tile) * out.tiles.each;
  return out.scales[before * out.spans + span * width + (token - before)];
}

// Four codes of neighbouring columns.
template <class CodeOf>
__device__ inline void write_4(const InputRows& in, const CodeRows& out, int token, int col,
                               const CodeOf& code_of) {
  uint32_t word = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i)
    word |= static_cast<uint32_t>(code_of(input_at(in, token, col + i))) << (8 * i);
  auto* const codes = static_cast<uint8_t*>(out.codes) + token * out.stride + col;
  *reinterpret_cast<uint32_t*>(codes) = word;
}
// Behind a row's columns.
__device__ inline void write_zeros(const InputRows& in, const CodeRows& out, int token) {
  for (int64_t col = in.cols + 4 * threadIdx.x; col < out.stride; col += 4 * threads())
    *reinterpret_cast<uint32_t*>(static_cast<uint8_t*>(out.codes) + token * out.stride + col) = 0;
}

// A block of threads has a token.
__global__ void pack_e4m3_codes_kernel(const __grid_constant__ InputRows in,
                                       const __grid_constant__ InputQuant quant,
                                       const __grid_constant__ CodeRows out) {
  let_next_begin();
  wait_for_inputs();
  const int token = blockIdx.x;
  const int cols = static_cast<int>(in.cols);
  const int width = quant.block > 0 ? static_cast<int>(quant.block) : cols;
  for (int first = 0; first < cols; first += width) {
    const int end = min(first + width, cols);
    const Scale scale = scale_of(in, quant, token, first, end);
    for (int col = first + 4 * static_cast<int>(threadIdx.x); col < end; col += 4 * threads())
      write_4(in, out, token, col, [&](float value) { return e4m3_code(value, scale); });
    if (out.spans == 0 && threadIdx.x == 0) out.scales[token] = scale.scale;
    for (int span = first / 128 + threadIdx.x; span < out.spans && span * 128 < end;
         span += threads())
      span_scale(out, in.tokens, token, span) = scale.scale;
  }
  write_zeros(in, out, token);
}

// Blocks of 128 columns: a warp has one, so that no thread waits for others.
__global__ void pack_e4m3_blocks_kernel(const __grid_constant__ InputRows in,
                                        const __grid_constant__ InputQuant quant,
                                        const __grid_constant__ CodeRows out) {
  const int token = blockIdx.y;
  const int lane = threadIdx.x % 32;
  const int span = blockIdx.x * (kThreads / 32) + threadIdx.x / 32;
  if (span >= out.spans) return;
  float values[4];
  uint32_t bits = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    values[i] = input_at(in, token, span * 128 + lane * 4 + i);
    bits = max(bits, magnitude_bits(values[i]));
  }
  bits = warp_reduce(bits, Max{});
  const Scale scale = input_scale(quant, bits, 0, 0);
  if (lane == 0) span_scale(out, in.tokens, token, span) = scale.scale;
  uint32_t word = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i)
    word |= static_cast<uint32_t>(e4m3_code(values[i], scale)) << (8 * i);
  const int64_t col = static_cast<int64_t>(span) * 128 + lane * 4;
  if (col < out.stride) {
    auto* const codes = static_cast<uint8_t*>(out.codes) + token * out.stride + col;
    *reinterpret_cast<uint32_t*>(codes) = word;
  }
}

__global__ void pack_int8_codes_kernel(const __grid_constant__ InputRows in,
                                       const __grid_constant__ InputQuant quant,
                                       const __grid_constant__ CodeRows out, float* shifts) {
  let_next_begin();
  wait_for_inputs();
  const int token = blockIdx.x;
  const Scale scale = scale_of(in, quant, token, 0, static_cast<int>(in.cols));
  if (threadIdx.x == 0) {
    out.scales[token] = scale.scale;
    shifts[token] = scale.scale * scale.zero;
  }
  const auto code_of = [&](float value) {
    const float code = scale.is_usable ? int8_code(value, scale) : scale.zero;
    return static_cast<uint8_t>(static_cast<int8_t>(code));
  };
  const int cols = static_cast<int>(in.cols);
  for (int col = 4 * static_cast<int>(threadIdx.x); col < cols; col += 4 * threads())
    write_4(in, out, token, col, code_of);
  write_zeros(in, out, token);
}

__global__ void round_floats_kernel(const __grid_constant__ InputRows in,
                                    const __grid_constant__ InputQuant quant, float* out) {
  const int token = blockIdx.x;
  const int cols = static_cast<int>(in.cols);
  const bool is_int8 = quant.kind == InputKind::kInt8;
  const int width = !is_int8 && quant.block > 0 ? static_cast<int>(quant.block) : cols;
  for (int first = 0; first < cols; first += width) {
    const int end = min(first + width, cols);
    const Scale scale = scale_of(in, quant, token, first, end);
    for (int col = first + threadIdx.x; col < end; col += kThreads) {
      const float value = input_at(in, token, col);
      float rounded = 0;
      if (is_int8) {
        rounded = (scale.is_usable ? int8_code(value, scale) : scale.zero) - scale.zero;
      } else {
        rounded = __half2float(e4m3_value(value, scale));
      }
      out[token * in.cols + col] = scale.scale * rounded;
    }
  }
}

template <class Element>
void launch_floats(const InputRows& in, void* out, int64_t stride, Stream stream) {
  const dim3 grid(static_cast<unsigned>((stride + kThreads - 1) / kThreads),
                  static_cast<unsigned>(in.tokens));
  pack_floats_kernel<Element>
      <<<grid, kThreads, 0, stream>>>(in, static_cast<Element*>(out), stride);
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

void pack_floats(const InputRows& in, ElementType type, void* out, int64_t stride, Stream stream) {
  switch (type) {
    case ElementType::kF32:
      return launch_floats<float>(in, out, stride, stream);
    case ElementType::kF16:
      return launch_floats<__half>(in, out, stride, stream);
    case ElementType::kBF16:
      return launch_floats<__nv_bfloat16>(in, out, stride, stream);
    case ElementType::kE4M3:
    case ElementType::kInt8:
      return;  // have scales: pack_e4m3 and the packers of codes
  }
}

void pack_e4m3(const InputRows& in, const InputQuant& quant, void* out, int64_t stride,
               float* scales, int64_t spans, Stream stream) {
  launch_early(pack_e4m3_kernel, {dim3(static_cast<unsigned>(in.tokens)), kRowThreads}, stream, in,
               quant, static_cast<__half*>(out), stride, scales, spans);
}

void pack_e4m3_codes(const InputRows& in, const InputQuant& quant, const CodeRows& out,
                     Stream stream) {
  const auto tokens = static_cast<unsigned>(in.tokens);
  if (quant.block == 128) {
    const dim3 grid(static_cast<unsigned>((out.spans + kThreads / 32 - 1) / (kThreads / 32)),
                    tokens);
    pack_e4m3_blocks_kernel<<<grid, kThreads, 0, stream>>>(in, quant, out);
  } else {
    launch_early(pack_e4m3_codes_kernel, {dim3(tokens), kRowThreads}, stream, in, quant, out);
  }
}

void pack_int8_codes(const InputRows& in, const InputQuant& quant, const CodeRows& out,
                     float* shifts, Stream stream) {
  launch_early(pack_int8_codes_kernel, {dim3(static_cast<unsigned>(in.tokens)), kRowThreads},
               stream, in, quant, out, shifts);
}

void round_floats(const InputRows& in, const InputQuant& quant, float* out, Stream stream) {
  round_floats_kernel<<<in.tokens, kThreads, 0, stream>>>(in, quant, out);
}

}  // namespace ingot::cuda
