// SPDX-License-Identifier: Apache-2.0
// Weights of panels as numbers again: whole matrices in bf16 for products of many tokens, and
// single rows in f32 for embeddings.
#include <cuda_bf16.h>

#include "kernels/cuda/decode.h"
#include "kernels/cuda/linear_panels.cuh"
#include "kernels/cuda/named_rows.cuh"

namespace ingot::cuda {
namespace {

constexpr int kDecodeWarps = 8;

// The four numbers of a word of bytes.
template <bool kIsSigned>
__device__ inline void unpack(uint32_t bytes, float (&out)[4]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uint32_t byte = (bytes >> (8 * i)) & 0xFF;
    out[i] = kIsSigned ? static_cast<float>(static_cast<int8_t>(byte)) : static_cast<float>(byte);
  }
}

// value = scale * (number - zero) + min
struct Line {
  float scale;
  float zero;
  float min;
};

// The lines of one row and run: of its first and its second half.
template <Packing kPacking>
__device__ inline void lines_of(const std::byte* base, int run, int row, Line (&lines)[2]) {
  using Facts = PackingFacts<kPacking>;
  if constexpr (Facts::kInBlocks) {
    BlockScale<kPacking> scale;
    scale.load(base, row);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int group = Facts::kInHalves ? 2 * run + half : run;
      lines[half] = {scale.scale * static_cast<float>(scale.whole(group)), 0, 0};
      if constexpr (BlockScale<kPacking>::kHasMins)
        lines[half].min = -scale.min_scale * static_cast<float>(scale.min(group));
    }
  } else {
    const std::byte* scales = base + run * Facts::kInfo.scale_bytes;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const GroupScale own =
          group_scale<Facts::kInfo.form>(scales + (Facts::kInHalves ? half * kPanelRows : 0), row);
      lines[half] = {own.scale, static_cast<float>(own.zero), own.min};
    }
  }
}

// The lane's eight numbers of one row and run: columns 8t ...
template <Packing kPacking>
__device__ inline void numbers_of(const std::byte* base, int run, int row, int t, float scale,
                                  float (&out)[8]) {
  using Facts = PackingFacts<kPacking>;
  typename Facts::Codes codes;
  codes.load(reinterpret_cast<const uint32_t*>(base + Facts::kShape.scales) +
                 run * (Facts::kShape.run / 4),
             row, t);
  const BytePair bytes = Facts::values(codes, t);
  [[maybe_unused]] const BytePair low = Facts::low_values(codes);
  Line lines[2];
  lines_of<kPacking>(base, run, row, lines);
  const Line line = t < 2 ? lines[0] : lines[1];
#pragma unroll
  for (int word = 0; word < 2; ++word) {
    float numbers[4];
    unpack<Facts::kIsSigned>(word == 0 ? bytes.low : bytes.high, numbers);
    if constexpr (Facts::kHasLowLevels) {
      float parts[4];
      unpack<true>(word == 0 ? low.low : low.high, parts);
#pragma unroll
      for (int i = 0; i < 4; ++i)
        numbers[i] = 128 * numbers[i] + parts[i];
    }
#pragma unroll
    for (int i = 0; i < 4; ++i)
      out[word * 4 + i] = scale * fmaf(line.scale, numbers[i] - line.zero, line.min);
  }
}

template <Packing kPacking>
__global__ void decode_matrix(const std::byte* panels, int64_t stride, int rows, int cols,
                              float scale, __nv_bfloat16* out) {
  const int warp = threadIdx.x / 32;
  const int g = threadIdx.x % 32 / 4;
  const int t = threadIdx.x % 4;
  const int block = blockIdx.x;
  const int panel = blockIdx.y;
  const int run = warp;
  if (block * 256 + run * 32 >= cols) return;
  const std::byte* base = panels + panel * stride + block * PackingFacts<kPacking>::kShape.block;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = g + 8 * half;
    if (panel * 16 + row >= rows) continue;
    float numbers[8];
    numbers_of<kPacking>(base, run, row, t, scale, numbers);
    __nv_bfloat162 packed[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      packed[i] = __floats2bfloat162_rn(numbers[2 * i], numbers[2 * i + 1]);
    __nv_bfloat16* to =
        out + static_cast<int64_t>(panel * 16 + row) * cols + block * 256 + run * 32;
    const auto* words = reinterpret_cast<const uint32_t*>(packed);
    *reinterpret_cast<uint4*>(to + 8 * t) = make_uint4(words[0], words[1], words[2], words[3]);
  }
}

// Eight runs of one row a warp.
template <Packing kPacking>
__global__ void gather_rows(const std::byte* panels, int64_t stride, int cols, float scale,
                            NamedRows rows, float factor, float* out) {
  const int lane = threadIdx.x % 32;
  const int row = number_of(rows, static_cast<int>(blockIdx.y));
  const int t = lane % 4;
  const int block = blockIdx.x * kDecodeWarps + threadIdx.x / 32;
  const int run = lane / 4;
  const int first = block * 256 + run * 32;
  if (first >= cols) return;
  const std::byte* base = panels + row / 16 * stride + block * PackingFacts<kPacking>::kShape.block;
  float numbers[8];
  numbers_of<kPacking>(base, run, row % 16, t, scale, numbers);
  float* to = out + static_cast<int64_t>(blockIdx.y) * cols + first;
#pragma unroll
  for (int i = 0; i < 8; ++i)
    to[8 * t + i] = numbers[i] * factor;
}

struct DecodeMatrix {
  const std::byte* panels;
  int64_t rows, cols;
  float scale;
  void* out;
  Stream stream;
  template <Packing kPacking>
  void run() const {
    const dim3 grid(static_cast<unsigned>((cols + 255) / 256),
                    static_cast<unsigned>((rows + 15) / 16));
    decode_matrix<kPacking><<<grid, 32 * kDecodeWarps, 0, stream>>>(
        panels, shape_of_panel(kPacking, cols).panel, static_cast<int>(rows),
        static_cast<int>(cols), scale, static_cast<__nv_bfloat16*>(out));
  }
};

struct GatherRows {
  const std::byte* panels;
  int64_t cols;
  float scale;
  NamedRows rows;
  float factor;
  float* out;
  Stream stream;
  template <Packing kPacking>
  void run() const {
    const dim3 grid(static_cast<unsigned>((cols + 256 * kDecodeWarps - 1) / (256 * kDecodeWarps)),
                    static_cast<unsigned>(rows.count));
    gather_rows<kPacking>
        <<<grid, 32 * kDecodeWarps, 0, stream>>>(panels, shape_of_panel(kPacking, cols).panel,
                                                 static_cast<int>(cols), scale, rows, factor, out);
  }
};

template <class Function>
void with_packing(Packing packing, const Function& function) {
  using enum Packing;
#define INGOT_CASE(name) \
  case name:             \
    return function.template run<name>()
  switch (packing) {
    INGOT_CASE(kGroups4);
    INGOT_CASE(kGroups4Min);
    INGOT_CASE(kGroups5);
    INGOT_CASE(kGroups5Min);
    INGOT_CASE(kGroups8);
    INGOT_CASE(kGroups1);
    INGOT_CASE(kGroups2);
    INGOT_CASE(kGroupsIq4);
    INGOT_CASE(kGroupsFp4);
    INGOT_CASE(kGroupsNvfp4);
    INGOT_CASE(kGroups2Zero);
    INGOT_CASE(kGroups3Zero);
    INGOT_CASE(kGroups4Zero);
    INGOT_CASE(kGroups8Zero);
    INGOT_CASE(kGroupsNf4);
    INGOT_CASE(kGroupsBnbFp4);
    INGOT_CASE(kBlocks2Min);
    INGOT_CASE(kBlocks3);
    INGOT_CASE(kBlocks4Min);
    INGOT_CASE(kBlocks5Min);
    INGOT_CASE(kBlocks6);
    INGOT_CASE(kBlocksIq4);
    INGOT_CASE(kBlocks2);
    INGOT_CASE(kBlocksIq1);
    INGOT_CASE(kBlocksIq1M);
    INGOT_CASE(kBlocksIq2);
    INGOT_CASE(kBlocksIq3Xxs);
    INGOT_CASE(kBlocksIq3S);
    default:
      return;
  }
#undef INGOT_CASE
}

}  // namespace

void decode_panels(Packing packing, const std::byte* panels, int64_t rows, int64_t cols,
                   float scale, void* out, Stream stream) {
  with_packing(packing, DecodeMatrix{panels, rows, cols, scale, out, stream});
}

void gather_panel_rows(Packing packing, const std::byte* panels, int64_t cols, float scale,
                       const NamedRows& rows, float factor, float* out, Stream stream) {
  with_packing(packing, GatherRows{panels, cols, scale, rows, factor, out, stream});
}

}  // namespace ingot::cuda
