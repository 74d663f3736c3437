// SPDX-License-Identifier: Apache-2.0
#include "base/wide_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace ingot {

void FreeWide::operator()(std::byte* memory) const {
  std::free(memory);  // NOLINT: pairs with aligned_alloc
}

WideMemory allocate_wide(size_t bytes) {
  constexpr size_t kLine = 64;
  constexpr size_t kHugePage = size_t{2} << 20;
  const size_t unit = bytes >= kHugePage ? kHugePage : kLine;
  if (bytes > SIZE_MAX - unit) return nullptr;
  const size_t size = (std::max<size_t>(bytes, 1) + unit - 1) / unit * unit;
  void* memory = std::aligned_alloc(unit, size);
  if (memory != nullptr && unit == kHugePage) ::madvise(memory, size, MADV_HUGEPAGE);
  return WideMemory(static_cast<std::byte*>(memory));
}

std::byte* Scratch::reserve(size_t bytes) {
  if (bytes <= bytes_ && memory_ != nullptr) return memory_.get();
  memory_.reset();
  memory_ = allocate_wide(bytes);
  if (memory_ == nullptr) throw std::bad_alloc();
  bytes_ = bytes;
  return memory_.get();
}

}  // namespace ingot
