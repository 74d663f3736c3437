// SPDX-License-Identifier: Apache-2.0
#include "bench/page_buffer.h"

#include <sys/mman.h>

#include <utility>

namespace ingot {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

}  // namespace

PageBuffer::PageBuffer(size_t size, PageSize pages) {
  if (size == 0 || size > SIZE_MAX - kHugePage) return;
  void* memory =
      mmap(nullptr, size + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  mapping_ = {static_cast<std::byte*>(memory), size + kHugePage};
  const size_t skipped = (kHugePage - reinterpret_cast<uintptr_t>(memory) % kHugePage) % kHugePage;
  bytes_ = mapping_.subspan(skipped, size);
  // A kernel without huge pages says no; the memory is as good.
  static_cast<void>(madvise(bytes_.data(), bytes_.size(),
                            pages == PageSize::kHuge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE));
}

PageBuffer::~PageBuffer() {
  if (!mapping_.empty()) munmap(mapping_.data(), mapping_.size());
}

PageBuffer::PageBuffer(PageBuffer&& other) noexcept
    : mapping_(std::exchange(other.mapping_, {})), bytes_(std::exchange(other.bytes_, {})) {}

PageBuffer& PageBuffer::operator=(PageBuffer&& other) noexcept {
  std::swap(mapping_, other.mapping_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace ingot
