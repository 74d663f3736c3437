// SPDX-License-Identifier: Apache-2.0
// Faults on demand, so that tests can see what a real one would do: one step hangs, fails, or
// computes numbers that are none. Always compiled in; without a fault it is one comparison a step.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"

namespace ingot {

struct Fault {
  enum class Kind : uint8_t {
    kNone,
    kStepHang,   // the step never ends
    kStepFail,   // its forward pass returns an error
    kNanLogits,  // a NaN in its first row of logits, or in the next step's that has one
  };
  Kind kind = Kind::kNone;
  int64_t at = 0;  // which step, from 1
};

// "step:hang@50", "step:fail@1", "logits:nan@3"; nothing for "".
Result<Fault> parse_fault(std::string_view text);

}  // namespace ingot
