// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include "bench/peak_loops.h"

namespace ingot {
namespace {

constexpr int kChains = 12;  // independent sums: latency times throughput of every core we know

int64_t first_of(__m512i value) {
  alignas(64) int64_t lanes[8];
  _mm512_store_si512(lanes, value);
  return lanes[0];
}

int64_t floats(int64_t rounds) {
  __m512 sums[kChains];
  for (__m512& sum : sums)
    sum = _mm512_set1_ps(1.0F);
  const __m512 factor = _mm512_set1_ps(0.999F);
  const __m512 term = _mm512_set1_ps(0.5F);
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (int chain = 0; chain < kChains; ++chain)
      sums[chain] = _mm512_fmadd_ps(sums[chain], factor, term);
  }
  __m512 total = sums[0];
  for (int chain = 1; chain < kChains; ++chain)
    total = _mm512_add_ps(total, sums[chain]);
  return static_cast<int64_t>(_mm512_cvtss_f32(total));
}

template <class Step>
int64_t sum_up(int64_t rounds, Step step) {
  __m512i sums[kChains];
  for (__m512i& sum : sums)
    sum = _mm512_setzero_si512();
  __m512i numbers = _mm512_set1_epi8(3);
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (int chain = 0; chain < kChains; ++chain) {
      asm volatile("" : "+v"(numbers));  // unknown again: no product is remembered
      sums[chain] = step(sums[chain], numbers);
    }
  }
  __m512i total = sums[0];
  for (int chain = 1; chain < kChains; ++chain)
    total = _mm512_add_epi32(total, sums[chain]);
  return first_of(total);
}

int64_t bytes(int64_t rounds) {
  return sum_up(rounds, [](__m512i sum, __m512i numbers) {
    return _mm512_dpbusd_epi32(sum, numbers, numbers);
  });
}

int64_t bytes_in_16_bits(int64_t rounds) {
  return sum_up(rounds, [](__m512i sum, __m512i numbers) {
    return _mm512_add_epi16(sum, _mm512_maddubs_epi16(numbers, numbers));
  });
}

int64_t words(int64_t rounds) {
  return sum_up(rounds, [](__m512i sum, __m512i numbers) {
    return _mm512_dpwssd_epi32(sum, numbers, numbers);
  });
}

}  // namespace

int64_t read_avx512(const void* data, int64_t size) {
  const auto* bytes_of = static_cast<const char*>(data);
  __m512i sums[4] = {_mm512_setzero_si512(), _mm512_setzero_si512(), _mm512_setzero_si512(),
                     _mm512_setzero_si512()};
  for (int64_t at = 0; at < size; at += 256) {
    for (int i = 0; i < 4; ++i)
      sums[i] = _mm512_xor_si512(sums[i], _mm512_load_si512(bytes_of + at + 64 * i));
  }
  return first_of(
      _mm512_xor_si512(_mm512_xor_si512(sums[0], sums[1]), _mm512_xor_si512(sums[2], sums[3])));
}

const PeakLoop kPeakLoopsAvx512[4] = {
    {OpKind::kFloat, "fp32 fma", 2 * 16 * kChains, floats},
    {OpKind::kInt8, "int8 vpdpbusd", 2 * 64 * kChains, bytes},
    {OpKind::kInt8Sum16, "int8 maddubs + add16", 2 * 64 * kChains, bytes_in_16_bits},
    {OpKind::kInt16, "int16 vpdpwssd", 2 * 32 * kChains, words},
};

}  // namespace ingot
