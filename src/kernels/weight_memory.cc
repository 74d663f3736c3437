// SPDX-License-Identifier: Apache-2.0
#include "kernels/weight_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace ingot {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kChunk = size_t{64} << 20;  // of addresses; pages are taken as they are written
constexpr size_t kAlignment = 64;

size_t round_up(size_t value, size_t unit) {
  return (value + unit - 1) / unit * unit;
}

// Addresses that begin on a huge page: what is mapped too much around them is given back.
std::byte* map_aligned(size_t bytes) {
  void* mapped = mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(mapped);
  const size_t before =
      round_up(reinterpret_cast<uintptr_t>(begin), kHugePage) - reinterpret_cast<uintptr_t>(begin);
  if (before > 0) munmap(begin, before);
  if (before < kHugePage) munmap(begin + before + bytes, kHugePage - before);
  madvise(begin + before, bytes, MADV_HUGEPAGE);  // where there are none, small pages serve
  return begin + before;
}

}  // namespace

WeightMemory::~WeightMemory() {
  release();
}
WeightMemory::WeightMemory(WeightMemory&& other) noexcept
    : chunks_(std::exchange(other.chunks_, {})),
      used_(std::exchange(other.used_, 0)),
      allocated_(std::exchange(other.allocated_, 0)) {}
WeightMemory& WeightMemory::operator=(WeightMemory&& other) noexcept {
  if (this == &other) return *this;
  release();
  chunks_ = std::exchange(other.chunks_, {});
  used_ = std::exchange(other.used_, 0);
  allocated_ = std::exchange(other.allocated_, 0);
  return *this;
}

void WeightMemory::release() {
  for (const Chunk& chunk : chunks_)
    munmap(chunk.data, chunk.bytes);
  chunks_.clear();
}

Result<std::byte*> WeightMemory::allocate(size_t bytes) {
  const size_t size = round_up(bytes, kAlignment);
  if (chunks_.empty() || chunks_.back().bytes - used_ < size) {
    const size_t chunk = std::max(kChunk, round_up(size, kHugePage));
    std::byte* data = map_aligned(chunk);
    if (data == nullptr) {
      return Status::resource_exhausted(
          "no memory for {} MiB of weights; free some, or use a smaller or more quantized model",
          size >> 20);
    }
    chunks_.push_back({data, chunk});
    used_ = 0;
  }
  std::byte* piece = chunks_.back().data + used_;
  used_ += size;
  allocated_ += bytes;
  return piece;
}

}  // namespace ingot
