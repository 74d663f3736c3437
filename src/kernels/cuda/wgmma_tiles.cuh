// SPDX-License-Identifier: Apache-2.0
// Products of Hopper's tensor cores (wgmma.cuh) with both factors in shared memory, their summed
// elements in rows: c (+)= a b^T for 64 rows of a and 16, 32, 64 or 128 rows of b, 32 bytes of
// each. c starts at 0 unless `is_added`. Sums of e4m3 are kept with some 14 bits only.
#pragma once

#include <cuda_fp8.h>

#include "kernels/cuda/wgmma.cuh"

namespace ingot::cuda {

template <class Element>
struct TileProducts;

template <>
struct TileProducts<__half> {
  using Sum = float;
  static __device__ __forceinline__ void multiply(float (&c)[8], uint64_t a, uint64_t b,
                                                  int is_added) {
    asm volatile(
        "{\n"
        ".reg .pred added;\n"
        "setp.ne.b32 added, %10, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7"
        "}, %8, %9, added, 1, 1, 0, 0;\n"
        "}\n"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]),
          "+f"(c[7])
        : "l"(a), "l"(b), "r"(is_added));
  }
  static __device__ __forceinline__ void multiply(float (&c)[16], uint64_t a, uint64_t b,
                                                  int is_added) {
    asm volatile(
        "{\n"
        ".reg .pred added;\n"
        "setp.ne.b32 added, %18, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
        "}, %16, %17, added, 1, 1, 0, 0;\n"
        "}\n"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]),
          "+f"(c[7]), "+f"(c[8]), "+f"(c[9]), "+f"(c[10]), "+f"(c[11]), "+f"(c[12]), "+f"(c[13]),
          "+f"(c[14]), "+f"(c[15])
        : "l"(a), "l"(b), "r"(is_added));
  }
  static __device__ __forceinline__ void multiply(float (&c)[32], uint64_t a, uint64_t b,
                                                  int is_added) {
    asm volatile(
        "{\n"
        ".reg .pred added;\n"
        "setp.ne.b32 added, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, "
        "%18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
        "}, %32, %33, added, 1, 1, 0, 0;\n"
        "}\n"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]),
          "+f"(c[7]), "+f"(c[8]), "+f"(c[9]), "+f"(c[10]), "+f"(c[11]), "+f"(c[12]), "+f"(c[13]),
          "+f"(c[14]), "+f"(c[15]), "+f"(c[16]), "+f"(c[17]), "+f"(c[18]), "+f"(c[19]), "+f"(c[20]),
          "+f"(c[21]), "+f"(c[22]), "+f"(c[23]), "+f"(c[24]), "+f"(c[25]), "+f"(c[26]), "+f"(c[27]),
          "+f"(c[28]), "+f"(c[29]), "+f"(c[30]), "+f"(c[31])
        : "l"(a), "l"(b), "r"(is_added));
  }
  static __device__ __forceinline__ void multiply(float (&c)[64], uint64_t a, uint64_t b,
                                                  int is_added) {
    multiply_64x128x16<__half>(c, a, b, is_added);
  }
};

template <>
struct TileProducts<__nv_bfloat16> {
  using Sum = float;
  static __device__ __forceinline__ void multiply(float (&c)[8], uint64_t a, uint64_t b,
                                                  int is_added) {
    asm volatile(
        "{\n"
        ".reg .pred added;\n"
        "setp.ne.b32 added, %10, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7"
        "}, %8, %9, added, 1, 1, 0, 0;\n"
        "}\n"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]),
          "+f"(c[7])
        : "l"(a), "l"(b), "r"(is_added));
  }
  static __device__ __forceinline__ void multiply(float (&c)[16], uint64_t a, uint64_t b,
                                                  int is_added) {
    asm volatile(
        "{\n"
        ".reg .pred added;\n"
        "setp.ne.b32 added, %18, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
        "}, %16, %17, added, 1, 1, 0, 0;\n"
        "}\n"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]),
          "+f"(c[7]), "+f"(c[8]), "+f"(c[9]), "+f"(c[10]), "+f"(c[11]), "+f"(c[12]), "+f"(c[13]),
          "+f"(c[14]), "+f"(c[15])
        : "l"(a), "l"(b), "r"(is_added));
  }
  static __device__ __forceinline__ void multiply(float (&c)[32], uint64_t a, uint64_t b,
                                                  int is_added) {
    asm volatile(
        "{\n"
        ".reg .pred added;\n"
        "setp.ne.b32 added, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, "
        "%18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
        "}, %32, %33, added, 1, 1, 0, 0;\n"
        "}\n"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]),
          "+f"(c[7]), "+f"(c[8]), "+f"(c[9]), "+f"(c[10]), "+f"(c[11]), "+f"(c[12]), "+f"(c[13]),
          "+f"(c[14]), "+f"(c[15]), "+f"(c[16]), "+f"(c[17]), "+f"(c[18]), "+f"(c[19]), "+f"(c[20]),
          "+f"(c[21]), "+f"(c[22]), "+f"(c[23]), "+f"(c[24]), "+f"(c[25]), "+f"(c[26]), "+f"(c[27]),
          "+f"(c[28]), "+f"(c[29]), "+f"(c[30]), "+f"(c[31])
        : "l"(a), "l"(b), "r"(is_added));
  }
  static __device__ __forceinline__ void multiply(float (&c)[64], uint64_t a, uint64_t b,
                                                  int is_added) {
    multiply_64x128x16<__nv_bfloat16>(c, a, b, is_added);
  }
};

template <>
struct TileProducts<__nv_fp8_e4m3> {
  using Sum = float;
  static __device__ __forceinline__ void multiply(float (&c)[8], uint64_t a, uint64_t b,
                                                  int is_added) {
    asm volatile(
        "{\n"
        ".reg .pred added;\n"
        "setp.ne.b32 added, %10, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n16k32.f32.e4m3.e4m3 {"
        "%0, %1, %2, %3, %4, %5, %6, %7"
        "}, %8, %9, added, 1, 1;\n"
        "}\n"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]),
          "+f"(c[7])
        : "l"(a), "l"(b), "r"(is_added));
  }
  static __device__ __forceinline__ void multiply(float (&c)[16], uint64_t a, uint64_t b,
                                                  int is_added) {
    asm volatile(
        "{\n"
        ".reg .pred added;\n"
        "setp.ne.b32 added, %18, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n32k32.f32.e4m3.e4m3 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
        "}, %16, %17, added, 1, 1;\n"
        "}\n"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]),
          "+f"(c[7]), "+f"(c[8]), "+f"(c[9]), "+f"(c[10]), "+f"(c[11]), "+f"(c[12]), "+f"(c[13]),
          "+f"(c[14]), "+f"(c[15])
        : "l"(a), "l"(b), "r"(is_added));
  }
  static __device__ __forceinline__ void multiply(float (&c)[32], uint64_t a, uint64_t b,
                                                  int is_added) {
    asm volatile(
        "{\n"
        ".reg .pred added;\n"
        "setp.ne.b32 added, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, "
        "%18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
        "}, %32, %33, added, 1, 1;\n"
        "}\n"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]),
          "+f"(c[7]), "+f"(c[8]), "+f"(c[9]), "+f"(c[10]), "+f"(c[11]), "+f"(c[12]), "+f"(c[13]),
          "+f"(c[14]), "+f"(c[15]), "+f"(c[16]), "+f"(c[17]), "+f"(c[18]), "+f"(c[19]), "+f"(c[20]),
          "+f"(c[21]), "+f"(c[22]), "+f"(c[23]), "+f"(c[24]), "+f"(c[25]), "+f"(c[26]), "+f"(c[27]),
          "+f"(c[28]), "+f"(c[29]), "+f"(c[30]), "+f"(c[31])
        : "l"(a), "l"(b), "r"(is_added));
  }
  static __device__ __forceinline__ void multiply(float (&c)[64], uint64_t a, uint64_t b,
                                                  int is_added) {
    asm volatile(
        "{\n"
        ".reg .pred added;\n"
        "setp.ne.b32 added, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, "
        "%18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, "
        "%34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, "
        "%50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
        "}, %64, %65, added, 1, 1;\n"
        "}\n"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]), "+f"(c[4]), "+f"(c[5]), "+f"(c[6]),
          "+f"(c[7]), "+f"(c[8]), "+f"(c[9]), "+f"(c[10]), "+f"(c[11]), "+f"(c[12]), "+f"(c[13]),
          "+f"(c[14]), "+f"(c[15]), "+f"(c[16]), "+f"(c[17]), "+f"(c[18]), "+f"(c[19]), "+f"(c[20]),
          "+f"(c[21]), "+f"(c[22]), "+f"(c[23]), "+f"(c[24]), "+f"(c[25]), "+f"(c[26]), "+f"(c[27]),
          "+f"(c[28]), "+f"(c[29]), "+f"(c[30]), "+f"(c[31]), "+f"(c[32]), "+f"(c[33]), "+f"(c[34]),
          "+f"(c[35]), "+f"(c[36]), "+f"(c[37]), "+f"(c[38]), "+f"(c[39]), "+f"(c[40]), "+f"(c[41]),
          "+f"(c[42]), "+f"(c[43]), "+f"(c[44]), "+f"(c[45]), "+f"(c[46]), "+f"(c[47]), "+f"(c[48]),
          "+f"(c[49]), "+f"(c[50]), "+f"(c[51]), "+f"(c[52]), "+f"(c[53]), "+f"(c[54]), "+f"(c[55]),
          "+f"(c[56]), "+f"(c[57]), "+f"(c[58]), "+f"(c[59]), "+f"(c[60]), "+f"(c[61]), "+f"(c[62]),
          "+f"(c[63])
        : "l"(a), "l"(b), "r"(is_added));
  }
};

template <>
struct TileProducts<int8_t> {
  using Sum = int32_t;
  static __device__ __forceinline__ void multiply(int32_t (&c)[8], uint64_t a, uint64_t b,
                                                  int is_added) {
    asm volatile(
        "{\n"
        ".reg .pred added;\n"
        "setp.ne.b32 added, %10, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n16k32.s32.s8.s8 {"
        "%0, %1, %2, %3, %4, %5, %6, %7"
        "}, %8, %9, added;\n"
        "}\n"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]), "+r"(c[4]), "+r"(c[5]), "+r"(c[6]),
          "+r"(c[7])
        : "l"(a), "l"(b), "r"(is_added));
  }
  static __device__ __forceinline__ void multiply(int32_t (&c)[16], uint64_t a, uint64_t b,
                                                  int is_added) {
    asm volatile(
        "{\n"
        ".reg .pred added;\n"
        "setp.ne.b32 added, %18, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n32k32.s32.s8.s8 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
        "}, %16, %17, added;\n"
        "}\n"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]), "+r"(c[4]), "+r"(c[5]), "+r"(c[6]),
          "+r"(c[7]), "+r"(c[8]), "+r"(c[9]), "+r"(c[10]), "+r"(c[11]), "+r"(c[12]), "+r"(c[13]),
          "+r"(c[14]), "+r"(c[15])
        : "l"(a), "l"(b), "r"(is_added));
  }
  static __device__ __forceinline__ void multiply(int32_t (&c)[32], uint64_t a, uint64_t b,
                                                  int is_added) {
    asm volatile(
        "{\n"
        ".reg .pred added;\n"
        "setp.ne.b32 added, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, "
        "%18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
        "}, %32, %33, added;\n"
        "}\n"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]), "+r"(c[4]), "+r"(c[5]), "+r"(c[6]),
          "+r"(c[7]), "+r"(c[8]), "+r"(c[9]), "+r"(c[10]), "+r"(c[11]), "+r"(c[12]), "+r"(c[13]),
          "+r"(c[14]), "+r"(c[15]), "+r"(c[16]), "+r"(c[17]), "+r"(c[18]), "+r"(c[19]), "+r"(c[20]),
          "+r"(c[21]), "+r"(c[22]), "+r"(c[23]), "+r"(c[24]), "+r"(c[25]), "+r"(c[26]), "+r"(c[27]),
          "+r"(c[28]), "+r"(c[29]), "+r"(c[30]), "+r"(c[31])
        : "l"(a), "l"(b), "r"(is_added));
  }
  static __device__ __forceinline__ void multiply(int32_t (&c)[64], uint64_t a, uint64_t b,
                                                  int is_added) {
    asm volatile(
        "{\n"
        ".reg .pred added;\n"
        "setp.ne.b32 added, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.s8 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, "
        "%18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, "
        "%34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, "
        "%50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
        "}, %64, %65, added;\n"
        "}\n"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3]), "+r"(c[4]), "+r"(c[5]), "+r"(c[6]),
          "+r"(c[7]), "+r"(c[8]), "+r"(c[9]), "+r"(c[10]), "+r"(c[11]), "+r"(c[12]), "+r"(c[13]),
          "+r"(c[14]), "+r"(c[15]), "+r"(c[16]), "+r"(c[17]), "+r"(c[18]), "+r"(c[19]), "+r"(c[20]),
          "+r"(c[21]), "+r"(c[22]), "+r"(c[23]), "+r"(c[24]), "+r"(c[25]), "+r"(c[26]), "+r"(c[27]),
          "+r"(c[28]), "+r"(c[29]), "+r"(c[30]), "+r"(c[31]), "+r"(c[32]), "+r"(c[33]), "+r"(c[34]),
          "+r"(c[35]), "+r"(c[36]), "+r"(c[37]), "+r"(c[38]), "+r"(c[39]), "+r"(c[40]), "+r"(c[41]),
          "+r"(c[42]), "+r"(c[43]), "+r"(c[44]), "+r"(c[45]), "+r"(c[46]), "+r"(c[47]), "+r"(c[48]),
          "+r"(c[49]), "+r"(c[50]), "+r"(c[51]), "+r"(c[52]), "+r"(c[53]), "+r"(c[54]), "+r"(c[55]),
          "+r"(c[56]), "+r"(c[57]), "+r"(c[58]), "+r"(c[59]), "+r"(c[60]), "+r"(c[61]), "+r"(c[62]),
          "+r"(c[63])
        : "l"(a), "l"(b), "r"(is_added));
  }
};

}  // namespace ingot::cuda
