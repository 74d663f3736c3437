// SPDX-License-Identifier: Apache-2.0
// Targets: the instruction sets (later GPU generations) that implementations are written for. A
// TargetSet is what this machine has, narrowed by --kernels; op lists are searched with it at load.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace ingot {

enum class Target : uint8_t {
  kScalar,
  kAvx2,        // with FMA, F16C and BMI2
  kAvx512,      // F, BW, DQ, VL and VNNI
  kAvx512Bf16,  // dot products of bf16, and VBMI: all that have the one but Cooper Lake
  kAmx,         // int8 and bf16 tiles
  kNeon,        // with dot products
  kNeonI8mm,    // with int8 matrix products
};

class TargetSet {
 public:
  static TargetSet scalar_only() { return TargetSet(1u << static_cast<unsigned>(Target::kScalar)); }
  static TargetSet of_this_machine();
  // "auto" (all this machine has), "reference" or "scalar", or a target's name ("avx512"), which
  // must be here and brings with it what it builds on: an op that has no kernel for it takes the
  // next lower one.
  static Result<TargetSet> parse(std::string_view name);

  bool has(Target target) const { return ((bits_ >> static_cast<unsigned>(target)) & 1u) != 0; }
  TargetSet with(Target target) const {
    return TargetSet(bits_ | (1u << static_cast<unsigned>(target)));
  }
  TargetSet without(Target target) const {
    return TargetSet(bits_ & ~(1u << static_cast<unsigned>(target)));
  }
  std::string to_string() const;  // "avx512 avx2 scalar"

 private:
  explicit TargetSet(uint32_t bits) : bits_(bits) {}
  uint32_t bits_;
};

std::string_view to_string(Target target);

}  // namespace ingot
