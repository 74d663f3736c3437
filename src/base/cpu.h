// SPDX-License-Identifier: Apache-2.0
// What this processor can do and how many of its cores are ours. Read once at start; kernels are
// chosen from it at load.
#pragma once

#include <cstdint>
#include <string>

namespace ingot {

// How weights are asked for before the arithmetic that they stream through needs them.
enum class WeightsAhead : uint8_t {
  kByItself,  // one or two tokens: its own prefetchers do best alone (AMD to Zen 4)
  kTwoSteps,  // one or two tokens: into the second level, then into the first (Intel)
  kFar,       // any number: into the first level, early (AMD from Zen 5 on)
};

struct CpuFeatures {
  bool has_avx2 = false;    // with FMA, F16C and BMI2, as every AVX2 machine has
  bool has_avx512 = false;  // F, BW, DQ, VL
  bool has_avx512_vnni = false;
  bool has_avx512_bf16 = false;
  bool has_avx512_vbmi = false;
  bool has_amx_int8 = false;
  bool has_amx_bf16 = false;
  WeightsAhead weights_ahead = WeightsAhead::kByItself;
  bool has_neon_dotprod = false;  // and fp16 and ARMv8.2, as every such machine has
  bool has_neon_i8mm = false;
};

CpuFeatures detect_cpu_features();
// The second level of a core's cache; where the system does not tell, the smallest that is common.
int64_t l2_cache_bytes();
// Cores this process may use: affinity mask and cgroup quota both count, and two hardware threads
// of one core count once. At least 1.
int usable_cores();
// "AMD EPYC 9R14, 2 cores, avx2 avx512 vnni": for `ingot --version` and reports.
std::string describe_cpu();

}  // namespace ingot
