// SPDX-License-Identifier: Apache-2.0
// Memory straight from the system, in pages of a chosen size: how fast it can be read depends on
// that. Nobody has touched it: the thread that writes a page first decides on which node it lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ingot {

enum class PageSize : uint8_t { kSmall, kHuge };  // 4 KiB or what the processor has; 2 MiB

class PageBuffer {
 public:
  // Empty when the system has no such memory. Huge pages are asked for, not insisted on.
  PageBuffer(size_t size, PageSize pages);
  ~PageBuffer();
  PageBuffer(PageBuffer&& other) noexcept;
  PageBuffer& operator=(PageBuffer&& other) noexcept;

  std::span<std::byte> bytes() { return bytes_; }  // aligned to 2 MiB
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> mapping_;  // with room to align
  std::span<std::byte> bytes_;
};

}  // namespace ingot
