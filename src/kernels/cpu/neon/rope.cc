// SPDX-License-Identifier: Apache-2.0
// Rotation, 4 pairs a vector, with the reference's own multiplications and sums: the same bits.
// Reads and writes 4 bytes a dimension; bound by L1.
#include "kernels/cpu/neon/rope.h"

#include <arm_neon.h>

namespace ingot::cpu {
namespace {

void rotate_pair(float& a, float& b, float cos, float sin) {
  const float turned = a * cos - b * sin;
  b = a * sin + b * cos;
  a = turned;
}

float32x4x2_t rotated(float32x4_t a, float32x4_t b, const float* cos, const float* sin) {
  const float32x4_t c = vld1q_f32(cos);
  const float32x4_t s = vld1q_f32(sin);
  return {vsubq_f32(vmulq_f32(a, c), vmulq_f32(b, s)), vaddq_f32(vmulq_f32(a, s), vmulq_f32(b, c))};
}

void rotate_halves(float* x, int64_t pairs, const float* cos, const float* sin) {
  int64_t i = 0;
  for (; i + 4 <= pairs; i += 4) {
    const float32x4x2_t turned =
        rotated(vld1q_f32(x + i), vld1q_f32(x + pairs + i), cos + i, sin + i);
    vst1q_f32(x + i, turned.val[0]);
    vst1q_f32(x + pairs + i, turned.val[1]);
  }
  for (; i < pairs; ++i)
    rotate_pair(x[i], x[i + pairs], cos[i], sin[i]);
}

void rotate_neighbours(float* x, int64_t pairs, const float* cos, const float* sin) {
  int64_t i = 0;
  for (; i + 4 <= pairs; i += 4) {
    const float32x4x2_t both = vld2q_f32(x + 2 * i);
    vst2q_f32(x + 2 * i, rotated(both.val[0], both.val[1], cos + i, sin + i));
  }
  for (; i < pairs; ++i)
    rotate_pair(x[2 * i], x[2 * i + 1], cos[i], sin[i]);
}

}  // namespace

void rope_neon(const RopeArgs& args, int64_t begin, int64_t end) {
  for (int64_t token = begin; token < end; ++token) {
    const float* cos = args.cos + token * args.pairs;
    const float* sin = args.sin + token * args.pairs;
    for (int64_t head = 0; head < args.heads; ++head) {
      float* x = args.x + token * args.token_stride + head * args.head_dim;
      if (args.pairing == RopePairing::kHalves) {
        rotate_halves(x, args.pairs, cos, sin);
      } else {
        rotate_neighbours(x, args.pairs, cos, sin);
      }
    }
  }
}

}  // namespace ingot::cpu
