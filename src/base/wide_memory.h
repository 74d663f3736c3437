// SPDX-License-Identifier: Apache-2.0
// Memory that kernels pass over: it begins on a cache line, and lies on huge pages where it is
// large. Attention reads keys and values half again as fast so, and rows of outputs do not straddle
// two lines.
#pragma once

#include <cstddef>
#include <memory>

namespace ingot {

struct FreeWide {
  void operator()(std::byte* memory) const;
};
using WideMemory = std::unique_ptr<std::byte[], FreeWide>;

// Not cleared; null where there is none.
WideMemory allocate_wide(size_t bytes);

// Such memory for what a step computes. It grows to the largest size asked for and stays; what it
// held is lost when it grows. One thread asks, many may write. Throws std::bad_alloc, as containers
// do, where there is none.
class Scratch {
 public:
  std::byte* reserve(size_t bytes);
  std::byte* data() { return memory_.get(); }

 private:
  WideMemory memory_;
  size_t bytes_ = 0;
};

}  // namespace ingot
