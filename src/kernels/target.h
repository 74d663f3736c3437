// SPDX-License-Identifier: Apache-2.0
// Targets: the instruction sets (later GPU generations) that implementations are written for. A
// TargetSet is what this machine has, narrowed by --kernels; op lists are searched with it at load.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace ingot {

enum class Target : uint8_t { kScalar, kAvx2 };

class TargetSet {
 public:
  static TargetSet scalar_only() { return TargetSet(1u << static_cast<unsigned>(Target::kScalar)); }
  static TargetSet of_this_machine();
  // "auto" (all this machine has), "reference" or "scalar", or a target's name ("avx2"), which must
  // be here and brings the scalar references with it.
  static Result<TargetSet> parse(std::string_view name);

  bool has(Target target) const { return ((bits_ >> static_cast<unsigned>(target)) & 1u) != 0; }
  TargetSet with(Target target) const {
    return TargetSet(bits_ | (1u << static_cast<unsigned>(target)));
  }
  std::string to_string() const;  // "avx2 scalar"

 private:
  explicit TargetSet(uint32_t bits) : bits_(bits) {}
  uint32_t bits_;
};

std::string_view to_string(Target target);

}  // namespace ingot
