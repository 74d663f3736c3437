// SPDX-License-Identifier: Apache-2.0
// Rotation, 16 or 8 pairs a vector, with the reference's own multiplications and sums: the same
// bits. Reads and writes 4 bytes a dimension; bound by L1.
#include "kernels/cpu/avx512/rope.h"

#include "kernels/cpu/avx512/vectors.h"

namespace ingot::cpu {
namespace {

void rotate_halves(float* x, int64_t pairs, const float* cos, const float* sin) {
  for (int64_t i = 0; i < pairs; i += 16) {
    const __mmask16 inside = lane_mask_512(pairs - i);
    const __m512 a = _mm512_maskz_loadu_ps(inside, x + i);
    const __m512 b = _mm512_maskz_loadu_ps(inside, x + pairs + i);
    const __m512 c = _mm512_maskz_loadu_ps(inside, cos + i);
    const __m512 s = _mm512_maskz_loadu_ps(inside, sin + i);
    _mm512_mask_storeu_ps(x + i, inside, _mm512_sub_ps(_mm512_mul_ps(a, c), _mm512_mul_ps(b, s)));
    _mm512_mask_storeu_ps(x + pairs + i, inside,
                          _mm512_add_ps(_mm512_mul_ps(a, s), _mm512_mul_ps(b, c)));
  }
}

// Eight pairs a vector: each cosine doubled, the partner by a swap; even lanes subtract.
void rotate_neighbours(float* x, int64_t pairs, const float* cos, const float* sin) {
  const __m512i doubled = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
  for (int64_t i = 0; i < pairs; i += 8) {
    const __mmask16 inside = lane_mask_512(2 * (pairs - i));
    const __mmask16 turns = lane_mask_512(pairs - i < 8 ? pairs - i : 8);
    const __m512 c = _mm512_permutexvar_ps(doubled, _mm512_maskz_loadu_ps(turns, cos + i));
    const __m512 s = _mm512_permutexvar_ps(doubled, _mm512_maskz_loadu_ps(turns, sin + i));
    const __m512 value = _mm512_maskz_loadu_ps(inside, x + 2 * i);
    const __m512 own = _mm512_mul_ps(value, c);
    const __m512 other = _mm512_mul_ps(_mm512_permute_ps(value, 0xB1), s);
    const __m512 sum = _mm512_add_ps(own, other);
    _mm512_mask_storeu_ps(x + 2 * i, inside, _mm512_mask_sub_ps(sum, 0x5555, own, other));
  }
}

}  // namespace

void rope_avx512(const RopeArgs& args, int64_t begin, int64_t end) {
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
