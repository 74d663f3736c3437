// SPDX-License-Identifier: Apache-2.0
// Weights of f16, bf16 and e4m3; the latter are widened to f16, which holds all their numbers.
#include <cuda_fp8.h>

#include "kernels/cuda/linear_rows.cuh"

namespace ingot::cuda {
namespace {

struct FloatSums {
  using Sum = float;
  static __device__ void write(const LinearParts& parts, const FloatInput&, TilePlace place,
                               int row_of_tile, int token, float sum) {
    write_output(parts, place, row_of_tile, token, sum);
  }
};

template <class Element>
struct HalfRows : FloatSums {
  using Input = Element;
  static constexpr int kElementBytes = 2;
  static constexpr bool kHasScales = false;
  static __device__ void multiply(float (&sum)[4], uint4 row0, uint4 row1, const uint4 (&x)[1]) {
    mma_16x8x16<Element>(sum, {row0.x, row1.x, row0.y, row1.y}, x[0].x, x[0].y);
    mma_16x8x16<Element>(sum, {row0.z, row1.z, row0.w, row1.w}, x[0].z, x[0].w);
  }
};

struct E4m3Rows : FloatSums {
  using Input = __half;
  static constexpr int kElementBytes = 1;
  static constexpr bool kHasScales = true;
  static __device__ uint32_t widen(uint32_t two) {
    const __half2_raw raw =
        __nv_cvt_fp8x2_to_halfraw2(static_cast<__nv_fp8x2_storage_t>(two & 0xFFFF), __NV_E4M3);
    return static_cast<uint32_t>(raw.x) | (static_cast<uint32_t>(raw.y) << 16);
  }
  static __device__ void multiply_4(float (&sum)[4], uint32_t row0, uint32_t row1, uint32_t x0,
                                    uint32_t x1) {
    mma_16x8x16<__half>(sum, {widen(row0), widen(row1), widen(row0 >> 16), widen(row1 >> 16)}, x0,
                        x1);
  }
  static __device__ void multiply(float (&sum)[4], uint4 row0, uint4 row1, const uint4 (&x)[2]) {
    multiply_4(sum, row0.x, row1.x, x[0].x, x[0].y);
    multiply_4(sum, row0.y, row1.y, x[0].z, x[0].w);
    multiply_4(sum, row0.z, row1.z, x[1].x, x[1].y);
    multiply_4(sum, row0.w, row1.w, x[1].z, x[1].w);
  }
};

}  // namespace

void linear_rows(ElementType type, const LinearParts& parts, const FloatInput& x, Stream stream) {
  switch (type) {
    case ElementType::kF16:
      return launch_rows<HalfRows<__half>>(parts, x, stream);
    case ElementType::kBF16:
      return launch_rows<HalfRows<__nv_bfloat16>>(parts, x, stream);
    case ElementType::kE4M3:
      return launch_rows<E4m3Rows>(parts, x, stream);
    case ElementType::kInt8:
      return linear_int8(parts, x, stream);
    case ElementType::kF32:
      return;  // takes inputs in f32: linear_exact()
  }
}

}  // namespace ingot::cuda
