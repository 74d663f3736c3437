// SPDX-License-Identifier: Apache-2.0
// The inner loops of machine.cc: each does nothing but one kind of work as fast as a core can. The
// results only keep the compiler from leaving the work out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ingot {

uint64_t read_all(std::span<const uint64_t> words);

struct PeakLoop {
  const char* name;
  bool is_float;         // else bytes
  double ops_per_round;  // multiplies and adds
  float (*run)(int64_t rounds);
};
// Those that this machine can run; never empty.
std::span<const PeakLoop> peak_loops();

}  // namespace ingot
