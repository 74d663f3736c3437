// SPDX-License-Identifier: Apache-2.0
// Weights of f16, bf16 and e4m3; the latter are widened to f16, which holds all their numbers.
#include <cuda_fp8.h>

#include "kernels/cuda/linear_rows.cuh"

namespace ingot::cuda {
namespace {

template <class Element>
struct HalfRows : Ungated<true> {
  using Input = Element;
  using Sum = float;
  static constexpr int kElementBytes = 2;
  static constexpr bool kHasScales = false;
  static constexpr bool kScalesSums = false;
  static __device__ void multiply(float (&sum)[4], uint4 row0, uint4 row1, const uint4 (&x)[1]) {
    mma_16x8x16<Element>(sum, {row0.x, row1.x, row0.y, row1.y}, x[0].x, x[0].y);
    mma_16x8x16<Element>(sum, {row0.z, row1.z, row0.w, row1.w}, x[0].z, x[0].w);
  }
  static __device__ float finish(const LinearParts& parts, const FloatInput&, RowPlace at, float,
                                 int token, float sum) {
    return finish_sum(parts, at, token, sum);
  }
};

struct E4m3Products {
  using Input = __half;
  using Sum = float;
  static constexpr int kElementBytes = 1;

  // Of four codes two each, the first and the last.
  static __device__ void widen(uint32_t four, uint32_t& first, uint32_t& last) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    // By halves of a register, which the conversion takes as they are.
    asm("{\n"
        ".reg .b16 low, high;\n"
        "mov.b32 {low, high}, %2;\n"
        "cvt.rn.f16x2.e4m3x2 %0, low;\n"
        "cvt.rn.f16x2.e4m3x2 %1, high;\n"
        "}"
        : "=r"(first), "=r"(last)
        : "r"(four));
#else
    const auto of_two = [](uint32_t two) {
      const __half2_raw raw =
          __nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(two & 0xFFFF), __NV_E4M3);
      return static_cast<uint32_t>(raw.x) | (static_cast<uint32_t>(raw.y) << 16);
    };
    first = of_two(four);
    last = of_two(four >> 16);
#endif
  }
  static __device__ void multiply_4(float (&sum)[4], uint32_t row0, uint32_t row1, uint32_t x0,
                                    uint32_t x1) {
    uint32_t a[4];
    widen(row0, a[0], a[2]);
    widen(row1, a[1], a[3]);
    mma_16x8x16<__half>(sum, {a[0], a[1], a[2], a[3]}, x0, x1);
  }
  static __device__ void multiply(float (&sum)[4], uint4 row0, uint4 row1, const uint4 (&x)[2]) {
    multiply_4(sum, row0.x, row1.x, x[0].x, x[0].y);
    multiply_4(sum, row0.y, row1.y, x[0].z, x[0].w);
    multiply_4(sum, row0.z, row1.z, x[1].x, x[1].y);
    multiply_4(sum, row0.w, row1.w, x[1].z, x[1].w);
  }
};

// Scales of each 128 columns, of the weights or the inputs.
struct E4m3Spans : E4m3Products, Ungated<false> {
  static constexpr bool kHasScales = true;
  static constexpr bool kScalesSums = false;
  static __device__ float finish(const LinearParts& parts, const FloatInput&, RowPlace at, float,
                                 int token, float sum) {
    return finish_sum(parts, at, token, sum);
  }
};

// One scale a row and one a token, for whole sums.
struct E4m3Rows : E4m3Products, Ungated<true> {
  static constexpr bool kHasScales = false;
  static constexpr bool kScalesSums = true;
  static __device__ float finish(const LinearParts& parts, const FloatInput& x, RowPlace at,
                                 float row_scale, int token, float sum) {
    const float scale = x.scales == nullptr ? 1 : x.scales[token];
    return finish_sum(parts, at, token, row_scale * scale * sum);
  }
};

void linear_e4m3(const LinearParts& parts, const FloatInput& x, Stream stream) {
  bool has_spans = x.spans > 0;
  for (int i = 0; i < parts.count; ++i)
    has_spans = has_spans || parts.part[i].scale_spans > 1;
  if (has_spans) return launch_rows<E4m3Spans>(parts, x, stream);
  launch_rows<E4m3Rows>(parts, x, stream);
}

}  // namespace

void linear_rows(ElementType type, const LinearParts& parts, const FloatInput& x, Stream stream) {
  switch (type) {
    case ElementType::kF16:
      return launch_rows<HalfRows<__half>>(parts, x, stream);
    case ElementType::kBF16:
      return launch_rows<HalfRows<__nv_bfloat16>>(parts, x, stream);
    case ElementType::kE4M3:
      return linear_e4m3(parts, x, stream);
    case ElementType::kInt8:
      return linear_int8(parts, x, stream);
    case ElementType::kF32:
      return;  // takes inputs in f32: linear_exact()
  }
}

}  // namespace ingot::cuda
