// SPDX-License-Identifier: Apache-2.0
#include <immintrin.h>

#include "bench/peak_loops.h"

namespace ingot {
namespace {

constexpr int kChains = 12;    // independent sums: latency times throughput of every core we know
constexpr int kIntChains = 8;  // of additions, which take a cycle; more would not fit in registers

int64_t first_of(const __m256i* sums) {
  __m256i total = sums[0];
  for (int chain = 1; chain < kIntChains; ++chain)
    total = _mm256_add_epi32(total, sums[chain]);
  return _mm256_extract_epi64(total, 0);
}

int64_t floats(int64_t rounds) {
  __m256 sums[kChains];
  for (__m256& sum : sums)
    sum = _mm256_set1_ps(1.0F);
  const __m256 factor = _mm256_set1_ps(0.999F);
  const __m256 term = _mm256_set1_ps(0.5F);
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (int chain = 0; chain < kChains; ++chain)
      sums[chain] = _mm256_fmadd_ps(sums[chain], factor, term);
  }
  __m256 total = sums[0];
  for (int chain = 1; chain < kChains; ++chain)
    total = _mm256_add_ps(total, sums[chain]);
  return static_cast<int64_t>(_mm256_cvtss_f32(total));
}

template <class Step>
int64_t sum_up(int64_t rounds, Step step) {
  __m256i sums[kIntChains];
  for (__m256i& sum : sums)
    sum = _mm256_setzero_si256();
  __m256i numbers = _mm256_set1_epi8(3);
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 8
    for (int chain = 0; chain < kIntChains; ++chain) {
      asm volatile("" : "+x"(numbers));  // unknown again: no product is remembered
      sums[chain] = step(sums[chain], numbers);
    }
  }
  return first_of(sums);
}

int64_t bytes(int64_t rounds) {
  const __m256i ones = _mm256_set1_epi16(1);
  return sum_up(rounds, [ones](__m256i sum, __m256i numbers) {
    const __m256i pairs = _mm256_maddubs_epi16(numbers, numbers);
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, ones));
  });
}

int64_t bytes_in_16_bits(int64_t rounds) {
  return sum_up(rounds, [](__m256i sum, __m256i numbers) {
    return _mm256_add_epi16(sum, _mm256_maddubs_epi16(numbers, numbers));
  });
}

int64_t words(int64_t rounds) {
  return sum_up(rounds, [](__m256i sum, __m256i numbers) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(numbers, numbers));
  });
}

}  // namespace

int64_t read_avx2(const void* data, int64_t size) {
  const auto* bytes_of = static_cast<const char*>(data);
  __m256i sums[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(),
                     _mm256_setzero_si256()};
  for (int64_t at = 0; at < size; at += 128) {
    for (int i = 0; i < 4; ++i) {
      const auto* from = reinterpret_cast<const __m256i*>(bytes_of + at + 32 * i);
      sums[i] = _mm256_xor_si256(sums[i], _mm256_load_si256(from));
    }
  }
  const __m256i total =
      _mm256_xor_si256(_mm256_xor_si256(sums[0], sums[1]), _mm256_xor_si256(sums[2], sums[3]));
  return _mm256_extract_epi64(total, 0);
}

const PeakLoop kPeakLoopsAvx2[4] = {
    {OpKind::kFloat, "fp32 fma", 2 * 8 * kChains, floats},
    {OpKind::kInt8, "int8 maddubs + madd + add", 2 * 32 * kIntChains, bytes},
    {OpKind::kInt8Sum16, "int8 maddubs + add16", 2 * 32 * kIntChains, bytes_in_16_bits},
    {OpKind::kInt16, "int16 madd + add", 2 * 16 * kIntChains, words},
};

}  // namespace ingot
