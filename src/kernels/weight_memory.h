// SPDX-License-Identifier: Apache-2.0
// Where packed weights live: large chunks on huge pages, which the memory bus reads up to a third
// faster than 4 KiB ones. Memory is taken from the system when it is first written, and given back
// all at once.
#pragma once

#include <cstddef>
#include <vector>

#include "base/status.h"

namespace ingot {

// Single thread; the pieces may be written by many.
class WeightMemory {
 public:
  WeightMemory() = default;
  ~WeightMemory();
  WeightMemory(WeightMemory&& other) noexcept;
  WeightMemory& operator=(WeightMemory&& other) noexcept;
  WeightMemory(const WeightMemory&) = delete;
  WeightMemory& operator=(const WeightMemory&) = delete;

  // `bytes` zeros, aligned to a cache line.
  Result<std::byte*> allocate(size_t bytes);
  size_t allocated_bytes() const { return allocated_; }

 private:
  struct Chunk {
    std::byte* data;
    size_t bytes;
  };
  void release();

  std::vector<Chunk> chunks_;
  size_t used_ = 0;  // of the last chunk
  size_t allocated_ = 0;
};

}  // namespace ingot
