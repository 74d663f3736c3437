// SPDX-License-Identifier: Apache-2.0
#include "bench/machine_loops.h"

#include <array>
#include <cstring>

namespace ingot {
namespace {

// Where nothing better is known: what the compiler makes of it.
int64_t plain_floats(int64_t rounds) {
  std::array<float, 64> sums{};
  for (int64_t i = 0; i < rounds; ++i) {
    for (float& sum : sums)
      sum = sum * 0.999F + 0.5F;
  }
  float total = 0;
  for (const float sum : sums)
    total += sum;
  return static_cast<int64_t>(total);
}

int64_t read_plain(std::span<const std::byte> bytes) {
  std::array<uint64_t, 8> sums{};
  std::array<uint64_t, 8> line{};  // a cache line a turn
  for (size_t at = 0; at + sizeof(line) <= bytes.size(); at += sizeof(line)) {
    std::memcpy(line.data(), bytes.data() + at, sizeof(line));
    for (size_t k = 0; k < sums.size(); ++k)
      sums[k] += line[k];
  }
  uint64_t total = 0;
  for (const uint64_t sum : sums)
    total += sum;
  return static_cast<int64_t>(total);
}

}  // namespace

std::vector<TargetLoop> peak_loops() {
  std::vector<TargetLoop> loops;
#if INGOT_X86
  const TargetSet targets = TargetSet::of_this_machine();
  const auto add = [&](Target target, std::span<const PeakLoop> those) {
    if (!targets.has(target)) return;
    for (const PeakLoop& loop : those)
      loops.push_back({target, loop});
  };
  add(Target::kAvx2, kPeakLoopsAvx2);
  add(Target::kAvx512, kPeakLoopsAvx512);
  add(Target::kAvx512Bf16, kPeakLoopsAvx512Bf16);
  if (targets.has(Target::kAmx) && amx_is_lent()) add(Target::kAmx, kPeakLoopsAmx);
#endif
  if (loops.empty())
    loops.push_back({Target::kScalar, {OpKind::kFloat, "fp32", 2 * 64, plain_floats}});
  return loops;
}

int64_t read_all([[maybe_unused]] TargetSet targets, std::span<const std::byte> bytes) {
#if INGOT_X86
  const auto size = static_cast<int64_t>(bytes.size());
  if (targets.has(Target::kAvx512)) return read_avx512(bytes.data(), size);
  if (targets.has(Target::kAvx2)) return read_avx2(bytes.data(), size);
#endif
  return read_plain(bytes);
}

}  // namespace ingot
