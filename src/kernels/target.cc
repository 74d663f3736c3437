// SPDX-License-Identifier: Apache-2.0
#include "kernels/target.h"

#include <array>

#include "base/cpu.h"

namespace ingot {
namespace {

constexpr std::array kTargets{Target::kAvx2, Target::kScalar};  // best first

}  // namespace

std::string_view to_string(Target target) {
  switch (target) {
    case Target::kScalar:
      return "scalar";
    case Target::kAvx2:
      return "avx2";
  }
  return "unknown";
}

TargetSet TargetSet::of_this_machine() {
  TargetSet targets = scalar_only();
#if INGOT_X86
  if (detect_cpu_features().has_avx2) targets = targets.with(Target::kAvx2);
#endif
  return targets;
}

Result<TargetSet> TargetSet::parse(std::string_view name) {
  const TargetSet machine = of_this_machine();
  if (name == "auto") return machine;
  if (name == "reference") return scalar_only();
  for (const Target target : kTargets) {
    if (name != ingot::to_string(target)) continue;
    if (!machine.has(target)) {
      return Status::invalid_argument("kernels '{}': this machine has only: {}", name,
                                      machine.to_string());
    }
    return scalar_only().with(target);
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
