// SPDX-License-Identifier: Apache-2.0
#include "kernels/target.h"

#include <array>

#include "base/cpu.h"

namespace ingot {
namespace {

// Best first; what stands behind a target of its family is what it builds on.
constexpr std::array kTargets{Target::kAmx,   Target::kAvx512Bf16, Target::kAvx512,
                              Target::kAvx2,  Target::kNeonI8mm,   Target::kNeon,
                              Target::kScalar};

TargetSet detect_targets() {
  const CpuFeatures cpu = detect_cpu_features();
  TargetSet targets = TargetSet::scalar_only();
  if (cpu.has_avx2) targets = targets.with(Target::kAvx2);
  if (cpu.has_avx512_vnni) targets = targets.with(Target::kAvx512);
  if (cpu.has_avx512_vnni && cpu.has_avx512_bf16 && cpu.has_avx512_vbmi) {
    targets = targets.with(Target::kAvx512Bf16);
    if (cpu.has_amx_int8 && cpu.has_amx_bf16) targets = targets.with(Target::kAmx);
  }
  if (cpu.has_neon_dotprod) targets = targets.with(Target::kNeon);
  if (cpu.has_neon_dotprod && cpu.has_neon_i8mm) targets = targets.with(Target::kNeonI8mm);
  return targets;
}

}  // namespace

std::string_view to_string(Target target) {
  switch (target) {
    case Target::kScalar:
      return "scalar";
    case Target::kAvx2:
      return "avx2";
    case Target::kAvx512:
      return "avx512";
    case Target::kAvx512Bf16:
      return "avx512_bf16";
    case Target::kAmx:
      return "amx";
    case Target::kNeon:
      return "neon";
    case Target::kNeonI8mm:
      return "i8mm";
  }
  return "unknown";
}

TargetSet TargetSet::of_this_machine() {
  static const TargetSet kMachine = detect_targets();
  return kMachine;
}

Result<TargetSet> TargetSet::parse(std::string_view name) {
  const TargetSet machine = of_this_machine();
  if (name == "auto") return machine;
  if (name == "reference") return scalar_only();
  for (const Target& target : kTargets) {
    if (name != ingot::to_string(target)) continue;
    if (!machine.has(target)) {
      return Status::invalid_argument("kernels '{}': this machine has only: {}", name,
                                      machine.to_string());
    }
    TargetSet targets = scalar_only();
    for (size_t i = static_cast<size_t>(&target - kTargets.data()); i < kTargets.size(); ++i) {
      if (machine.has(kTargets[i])) targets = targets.with(kTargets[i]);
    }
    return targets;
  }
  return Status::invalid_argument("kernels '{}': use auto, reference, or one of: {}", name,
                                  machine.to_string());
}

std::string TargetSet::to_string() const {
  std::string text;
  for (const Target target : kTargets) {
    if (!has(target)) continue;
    if (!text.empty()) text += ' ';
    text += ingot::to_string(target);
  }
  return text;
}

}  // namespace ingot
