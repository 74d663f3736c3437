// SPDX-License-Identifier: Apache-2.0
// What one rendering may spend: fuel (work), heap bytes and output bytes. A template that wants
// more is refused with kResourceExhausted; every loop over outside data spends before it works.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/limits.h"
#include "base/status.h"

namespace ingot::jinja {

// How much there is to render: a long conversation may cost more than a short one.
struct InputSize {
  uint64_t values = 0;  // JSON values
  uint64_t bytes = 0;   // of text in them
};

struct Allowance {
  uint64_t fuel = limits::kTemplateFuel;
  uint64_t heap_bytes = 8 * limits::kMiB;
  uint64_t output_bytes = limits::kTemplateOutputBytes;

  static Allowance for_input(const InputSize& input) {
    constexpr uint64_t kMostHeap = 256 * limits::kMiB;
    Allowance allowance;
    allowance.fuel += 200 * input.values;
    allowance.heap_bytes += std::min(kMostHeap, 1024 * input.values + 16 * input.bytes);
    allowance.output_bytes += input.bytes;
    return allowance;
  }
};

class Budget {
 public:
  explicit Budget(const Allowance& allowance)
      : units_(allowance.fuel * kUnitsPerStep),
        heap_bytes_(allowance.heap_bytes),
        output_bytes_(allowance.output_bytes) {}

  // One step is the evaluation of one node, or work of that size.
  Status step(uint64_t steps = 1) { return spend(steps, kUnitsPerStep); }
  // Moving or searching bytes: 256 to a step. Work that looks at every character: 32 to a step.
  Status copy(uint64_t bytes) { return spend(bytes, 1); }
  Status scan(uint64_t bytes) { return spend(bytes, 8); }
  Status reserve(uint64_t bytes) {
    if (bytes > heap_bytes_)
      return Status::resource_exhausted("the template needs too much memory");
    heap_bytes_ -= bytes;
    return Status::ok();
  }
  uint64_t heap_bytes_left() const { return heap_bytes_; }
  uint64_t output_bytes() const { return output_bytes_; }

 private:
  static constexpr uint64_t kUnitsPerStep = 256;

  Status spend(uint64_t count, uint64_t units) {
    if (count > units_ / units) {
      units_ = 0;
      return Status::resource_exhausted("the template does not finish within its budget of steps");
    }
    units_ -= count * units;
    return Status::ok();
  }

  uint64_t units_;
  uint64_t heap_bytes_;
  uint64_t output_bytes_;
};

}  // namespace ingot::jinja
