// SPDX-License-Identifier: Apache-2.0
// Faults on demand, so that tests can see what a real one would do: one step hangs, fails, runs out
// of memory, loses its device, or computes numbers that are none. Always compiled in; without a
// fault it is one comparison a step.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"

namespace ingot {

struct Fault {
  enum class Kind : uint8_t {
    kNone,
    kStepHang,    // the step never ends
    kStepFail,    // its forward pass returns an error
    kStepOom,     // ... as if there was no memory for it
    kStepLost,    // ... as if the device was lost with it
    kNanLogits,   // a NaN in its first row of logits, or in the next step's that has one
    kCudaOom,     // the GPU is asked for more memory than it has
    kCudaSticky,  // a kernel on the GPU stops at an illegal instruction
  };
  Kind kind = Kind::kNone;
  int64_t at = 0;  // which step, from 1

  bool needs_device() const { return kind == Kind::kCudaOom || kind == Kind::kCudaSticky; }
};

// "step:hang@50", "cuda:oom@1", "logits:nan@3"; nothing for "".
Result<Fault> parse_fault(std::string_view text);

}  // namespace ingot
