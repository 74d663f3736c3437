// SPDX-License-Identifier: Apache-2.0
// Rotation, 8 pairs a vector, with the reference's own multiplications and sums: the same bits.
// Reads and writes 4 bytes a dimension; bound by L1.
#include "kernels/cpu/avx2/rope.h"

#include <immintrin.h>

namespace ingot::cpu {
namespace {

void rotate_pair(float& a, float& b, float cos, float sin) {
  const float turned = a * cos - b * sin;
  b = a * sin + b * cos;
  a = turned;
}

void rotate_halves(float* x, int64_t pairs, const float* cos, const float* sin) {
  int64_t i = 0;
  for (; i + 8 <= pairs; i += 8) {
    const __m256 a = _mm256_loadu_ps(x + i);
    const __m256 b = _mm256_loadu_ps(x + pairs + i);
    const __m256 c = _mm256_loadu_ps(cos + i);
    const __m256 s = _mm256_loadu_ps(sin + i);
    _mm256_storeu_ps(x + i, _mm256_sub_ps(_mm256_mul_ps(a, c), _mm256_mul_ps(b, s)));
    _mm256_storeu_ps(x + pairs + i, _mm256_add_ps(_mm256_mul_ps(a, s), _mm256_mul_ps(b, c)));
  }
  for (; i < pairs; ++i)
    rotate_pair(x[i], x[i + pairs], cos[i], sin[i]);
}

// Four pairs a vector: each cosine doubled, the partner by a swap, and the sign by addsub.
void rotate_neighbours(float* x, int64_t pairs, const float* cos, const float* sin) {
  const __m256i doubled = _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3);
  int64_t i = 0;
  for (; i + 4 <= pairs; i += 4) {
    const __m256 c =
        _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_loadu_ps(cos + i)), doubled);
    const __m256 s =
        _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_loadu_ps(sin + i)), doubled);
    const __m256 value = _mm256_loadu_ps(x + 2 * i);
    const __m256 partner = _mm256_permute_ps(value, 0xB1);
    _mm256_storeu_ps(x + 2 * i,
                     _mm256_addsub_ps(_mm256_mul_ps(value, c), _mm256_mul_ps(partner, s)));
  }
  for (; i < pairs; ++i)
    rotate_pair(x[2 * i], x[2 * i + 1], cos[i], sin[i]);
}

}  // namespace

void rope_avx2(const RopeArgs& args, int64_t begin, int64_t end) {
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
