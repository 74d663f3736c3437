// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include "bench/peak_loops.h"

namespace ingot {
namespace {

constexpr int kChains = 12;  // independent sums: latency times throughput of every core we know

int64_t pairs(int64_t rounds) {
  __m512 sums[kChains];
  for (__m512& sum : sums)
    sum = _mm512_setzero_ps();
  __m512i numbers = _mm512_set1_epi16(0x3F80);  // ones
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (int chain = 0; chain < kChains; ++chain) {
      asm volatile("" : "+v"(numbers));  // unknown again: no product is remembered
      const auto factors = reinterpret_cast<__m512bh>(numbers);
      sums[chain] = _mm512_dpbf16_ps(sums[chain], factors, factors);
    }
  }
  __m512 total = sums[0];
  for (int chain = 1; chain < kChains; ++chain)
    total = _mm512_add_ps(total, sums[chain]);
  return static_cast<int64_t>(_mm512_cvtss_f32(total));
}

}  // namespace

const PeakLoop kPeakLoopsAvx512Bf16[1] = {
    {OpKind::kBf16, "bf16 vdpbf16ps", 2 * 32 * kChains, pairs},
};

}  // namespace ingot
