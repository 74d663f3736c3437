// SPDX-License-Identifier: Apache-2.0
#include "base/cpu.h"

#include <fmt/core.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "base/cpu_limits.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace ingot {
namespace {

#if defined(__x86_64__)
// Which register states the operating system saves: without it an instruction traps even if
// present.
uint64_t enabled_states() {
  uint32_t low = 0;
  uint32_t high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

// The system gives tile registers to a process only when asked, as they make its state large.
bool may_use_tiles() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

// Of a processor whose first leaf begins with `a`.
WeightsAhead weights_ahead(uint32_t a) {
  constexpr uint32_t kIntel = 0x756E6547;  // "Genu"ineIntel
  constexpr uint32_t kAmd = 0x68747541;    // "Auth"enticAMD
  constexpr uint32_t kZen5 = 0x1A;
  const uint32_t family = ((a >> 8) & 0xF) + ((a >> 20) & 0xFF);
  uint32_t maker = 0;
  uint32_t c = 0;
  uint32_t d = 0;
  if (__get_cpuid(0, &a, &maker, &c, &d) == 0) return WeightsAhead::kByItself;
  if (maker == kIntel) return WeightsAhead::kTwoSteps;
  return maker == kAmd && family >= kZen5 ? WeightsAhead::kFar : WeightsAhead::kByItself;
}

bool bit(uint32_t word, int index) {
  return ((word >> index) & 1u) != 0;
}
#endif

std::string model_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name"))
      return line.substr(std::min(line.find(':') + 2, line.size()));
  }
  return "unknown processor";
}

}  // namespace

CpuFeatures detect_cpu_features() {
  CpuFeatures features;
#if defined(__x86_64__)
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t c = 0;
  uint32_t d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || !bit(c, 27)) return features;  // no OSXSAVE
  const bool has_fma = bit(c, 12) && bit(c, 28) && bit(c, 29);              // FMA, AVX, F16C
  features.weights_ahead = weights_ahead(a);
  const uint64_t states = enabled_states();
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return features;
  const bool has_ymm = (states & 0x6) == 0x6;
  const bool has_zmm = (states & 0xE6) == 0xE6;
  const bool has_tiles = (states & 0x60000) == 0x60000 && bit(d, 24) && may_use_tiles();
  features.has_avx2 = has_ymm && has_fma && bit(b, 5) && bit(b, 8);
  features.has_avx512 =
      has_zmm && features.has_avx2 && bit(b, 16) && bit(b, 17) && bit(b, 30) && bit(b, 31);
  features.has_avx512_vnni = features.has_avx512 && bit(c, 11);
  features.has_avx512_vbmi = features.has_avx512 && bit(c, 1);
  features.has_amx_bf16 = has_tiles && bit(d, 22);
  features.has_amx_int8 = has_tiles && bit(d, 25);
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d) != 0)
    features.has_avx512_bf16 = features.has_avx512 && bit(a, 5);
#elif defined(__aarch64__)
  constexpr uint64_t kDotprod = HWCAP_ASIMDDP | HWCAP_ASIMDHP | HWCAP_ATOMICS;
  features.has_neon_dotprod = (getauxval(AT_HWCAP) & kDotprod) == kDotprod;
  features.has_neon_i8mm = (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0;
#endif
  return features;
}

int64_t l2_cache_bytes() {
  constexpr int64_t kLeast = int64_t{256} << 10;
  constexpr int64_t kMost = int64_t{4} << 20;  // larger ones are shared by cores
  return std::clamp<int64_t>(sysconf(_SC_LEVEL2_CACHE_SIZE), kLeast, kMost);
}

int usable_cores() {
  return count_usable_cores(affinity_cpus(), "/");
}

std::string describe_cpu() {
  const CpuFeatures features = detect_cpu_features();
  std::string text = fmt::format("{}, {} cores", model_name(), usable_cores());
  const auto add = [&](bool has, const char* name) {
    if (has) text += fmt::format(" {}", name);
  };
  text += ",";
  add(features.has_avx2, "avx2");
  add(features.has_avx512, "avx512");
  add(features.has_avx512_vnni, "vnni");
  add(features.has_avx512_bf16, "bf16");
  add(features.has_amx_int8, "amx-int8");
  add(features.has_amx_bf16, "amx-bf16");
  add(features.has_neon_dotprod, "dotprod");
  add(features.has_neon_i8mm, "i8mm");
  return text;
}

}  // namespace ingot
