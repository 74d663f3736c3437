// SPDX-License-Identifier: Apache-2.0
// Packing: 4 columns a vector, two passes over a group that stays in L1 (largest value, then
// codes). Reads 4 bytes and writes about 1.2 per column; one call per step and input, shared by its
// linears. Show it with `ingot bench kernels pack`.
#include "kernels/cpu/neon/activations.h"

#include <arm_neon.h>

namespace ingot::cpu {
namespace {

constexpr float kSmallest = 0x1p-120F;  // as in the reference
constexpr uint32_t kInfinityBits = 0x7F800000;

struct GroupScale {
  float scale;
  float inverse;  // 0 gives codes 0
  bool is_usable;
};

// The largest |x| of `count` values, compared as bits so that a NaN wins.
GroupScale scale_of(const float* x, int64_t count) {
  uint32x4_t largest = vdupq_n_u32(0);
  for (int64_t i = 0; i < count; i += 4)
    largest = vmaxq_u32(largest, vreinterpretq_u32_f32(vabsq_f32(vld1q_f32(x + i))));
  const uint32_t bits = vmaxvq_u32(largest);
  if (bits >= kInfinityBits) return {__builtin_nanf(""), 0.0F, false};
  float value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  if (value < kSmallest) return {0.0F, 0.0F, false};
  return {value / 127.0F, 127.0F / value, true};
}

int16x8_t codes_of_8(const float* x, float inverse) {
  const int32x4_t low = vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(x), inverse));
  const int32x4_t high = vcvtnq_s32_f32(vmulq_n_f32(vld1q_f32(x + 4), inverse));
  return vmovn_high_s32(vmovn_s32(low), high);
}
int8x16_t codes_of_16(const float* x, const GroupScale& scale) {
  if (!scale.is_usable) return vdupq_n_s8(0);
  return vmovn_high_s16(vmovn_s16(codes_of_8(x, scale.inverse)), codes_of_8(x + 8, scale.inverse));
}

}  // namespace

void pack_q8g32_neon(const PackArgs& args, int64_t begin, int64_t end) {
  const int64_t row_blocks = (args.cols + kPackedColumns - 1) / kPackedColumns;
  for (int64_t token = begin; token < end; ++token) {
    const float* x = args.x + token * args.cols;
    auto* blocks = reinterpret_cast<Q8G32*>(args.out) + token * row_blocks;
    for (int64_t i = 0; i < row_blocks; ++i) {
      Q8G32& block = blocks[i];
      block.padding = 0;
      for (int64_t group = 0; group < 8; ++group) {
        const int64_t col = i * kPackedColumns + group * 32;
        const GroupScale scale =
            col < args.cols ? scale_of(x + col, 32) : GroupScale{0.0F, 0.0F, false};
        const int8x16_t first = codes_of_16(x + col, scale);
        const int8x16_t second = codes_of_16(x + col + 16, scale);
        vst1q_s8(block.codes + group * 32, first);
        vst1q_s8(block.codes + group * 32 + 16, second);
        block.scales[group] = scale.scale;
        block.sums[group] = vaddlvq_s8(first) + vaddlvq_s8(second);
        block.weighed[group] = scale.scale * static_cast<float>(block.sums[group]);
      }
    }
  }
}

void pack_q8g256_neon(const PackArgs& args, int64_t begin, int64_t end) {
  const int64_t row_blocks = args.cols / kPackedColumns;
  for (int64_t token = begin; token < end; ++token) {
    const float* x = args.x + token * args.cols;
    auto* blocks = reinterpret_cast<Q8G256*>(args.out) + token * row_blocks;
    for (int64_t i = 0; i < row_blocks; ++i) {
      Q8G256& block = blocks[i];
      const GroupScale scale = scale_of(x + i * kPackedColumns, kPackedColumns);
      block.scale = scale.scale;
      for (int64_t part = 0; part < 16; ++part) {
        const int8x16_t codes = codes_of_16(x + i * kPackedColumns + part * 16, scale);
        vst1q_s8(block.codes + part * 16, codes);
        block.sums_of_16[part] = vaddlvq_s8(codes);
      }
      for (int64_t part = 0; part < 8; ++part)
        block.sums_of_32[part] =
            static_cast<int16_t>(block.sums_of_16[2 * part] + block.sums_of_16[2 * part + 1]);
    }
  }
}

}  // namespace ingot::cpu
