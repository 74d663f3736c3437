// SPDX-License-Identifier: Apache-2.0
// Rounding inputs to bf16, to the nearest, ties to even. By whole-number arithmetic: the conversion
// instruction would flush denormals.
#include "kernels/cpu/avx512/activations.h"

#include <immintrin.h>

namespace ingot::cpu {
namespace {

__m256i round_16(__m512 values) {
  const __m512i bits = _mm512_castps_si512(values);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF)));
  const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x00400000));
  const __mmask16 is_nan = _mm512_cmp_ps_mask(values, values, _CMP_UNORD_Q);
  return _mm512_cvtepi32_epi16(
      _mm512_srli_epi32(_mm512_mask_mov_epi32(rounded, is_nan, quiet), 16));
}

}  // namespace

void pack_bf16_avx512(const PackArgs& args, int64_t begin, int64_t end) {
  const int64_t width = (args.cols + 31) / 32 * 32;
  for (int64_t token = begin; token < end; ++token) {
    const float* x = args.x + token * args.cols;
    auto* out = reinterpret_cast<uint16_t*>(args.out) + token * width;
    for (int64_t col = 0; col < width; col += 16) {
      const int64_t left = args.cols - col;
      const auto mask = static_cast<__mmask16>(left >= 16  ? 0xFFFFu
                                               : left <= 0 ? 0u
                                                           : (1u << left) - 1);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + col),
                          round_16(_mm512_maskz_loadu_ps(mask, x + col)));
    }
  }
}

}  // namespace ingot::cpu
