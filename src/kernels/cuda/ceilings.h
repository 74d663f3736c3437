// SPDX-License-Identifier: Apache-2.0
// What a GPU can do at most, measured: how fast it reads its memory, and how fast it multiplies
// matrices through the vendor's library. The numbers that benchmarks compare with.
#pragma once

#include <cstddef>

#include "kernels/cuda/stream.h"

namespace ingot::cuda {

// Reads `bytes`, a multiple of 16, once. The sum of what it read is stored only where it is a
// number that it hardly ever is: `out` keeps the reads from being left out.
void read_all(const std::byte* from, size_t bytes, std::byte* out, Stream stream);

}  // namespace ingot::cuda
