// SPDX-License-Identifier: Apache-2.0
#include "bench/machine_loops.h"

#include <array>
#include <vector>

#include "base/cpu.h"
#include "kernels/target.h"

#if INGOT_X86
#include <immintrin.h>
#endif

namespace ingot {
namespace {

constexpr int kChains = 12;  // independent sums: latency times throughput of every core we know

// Where nothing better is known: what the compiler makes of it.
float plain_floats(int64_t rounds) {
  std::array<float, 64> sums{};
  for (int64_t i = 0; i < rounds; ++i) {
    for (float& sum : sums)
      sum = sum * 0.999F + 0.5F;
  }
  float total = 0;
  for (const float sum : sums)
    total += sum;
  return total;
}

#if INGOT_X86
__attribute__((target("avx2,fma"))) float fma_avx2(int64_t rounds) {
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
  return _mm256_cvtss_f32(total);
}

__attribute__((target("avx512f"))) float fma_avx512(int64_t rounds) {
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
  return _mm512_cvtss_f32(total);
}

// The sums feed back into the products, so that no part of the work can be done once for all.
__attribute__((target("avx2"))) float bytes_avx2(int64_t rounds) {
  __m256i sums[kChains];
  for (__m256i& sum : sums)
    sum = _mm256_set1_epi8(3);
  const __m256i weights = _mm256_set1_epi8(1);
  const __m256i ones = _mm256_set1_epi16(1);
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (int chain = 0; chain < kChains; ++chain) {
      const __m256i pairs = _mm256_maddubs_epi16(sums[chain], weights);
      sums[chain] = _mm256_add_epi32(sums[chain], _mm256_madd_epi16(pairs, ones));
    }
  }
  __m256i total = sums[0];
  for (int chain = 1; chain < kChains; ++chain)
    total = _mm256_add_epi32(total, sums[chain]);
  return static_cast<float>(_mm256_extract_epi32(total, 0));
}

__attribute__((target("avx512f,avx512vnni"))) float bytes_vnni(int64_t rounds) {
  __m512i sums[kChains];
  for (__m512i& sum : sums)
    sum = _mm512_set1_epi32(3);
  const __m512i bytes = _mm512_set1_epi32(0x01020304);
  for (int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (int chain = 0; chain < kChains; ++chain)
      sums[chain] = _mm512_dpbusd_epi32(sums[chain], bytes, bytes);
  }
  __m512i total = sums[0];
  for (int chain = 1; chain < kChains; ++chain)
    total = _mm512_add_epi32(total, sums[chain]);
  std::array<int32_t, 16> lanes{};
  _mm512_storeu_si512(lanes.data(), total);
  return static_cast<float>(lanes[0]);
}
#endif

std::vector<PeakLoop> loops_of_this_machine() {
  std::vector<PeakLoop> loops;
  [[maybe_unused]] const CpuFeatures features = detect_cpu_features();
#if INGOT_X86
  if (features.has_avx2) {
    loops.push_back({"avx2 fma", true, 2.0 * 8 * kChains, fma_avx2});
    loops.push_back({"avx2 maddubs", false, 2.0 * 32 * kChains, bytes_avx2});
  }
  if (features.has_avx512) loops.push_back({"avx512 fma", true, 2.0 * 16 * kChains, fma_avx512});
  if (features.has_avx512_vnni)
    loops.push_back({"avx512 vnni", false, 2.0 * 64 * kChains, bytes_vnni});
#endif
  if (loops.empty()) loops.push_back({"plain", true, 2.0 * 64, plain_floats});
  return loops;
}

}  // namespace

uint64_t read_all(std::span<const uint64_t> words) {
  std::array<uint64_t, 8> sums{};  // a cache line a turn
  for (size_t i = 0; i + sums.size() <= words.size(); i += sums.size()) {
#pragma GCC unroll 8
    for (size_t k = 0; k < sums.size(); ++k)
      sums[k] += words[i + k];
  }
  uint64_t total = 0;
  for (const uint64_t sum : sums)
    total += sum;
  return total;
}

std::span<const PeakLoop> peak_loops() {
  static const std::vector<PeakLoop> kLoops = loops_of_this_machine();
  return kLoops;
}

}  // namespace ingot
