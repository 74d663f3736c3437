// SPDX-License-Identifier: Apache-2.0
// Bounded little-endian reader over bytes from outside. Every read names its field, so that a
// broken file is refused with file, field and offset. Never reads past the span; never allocates
// from a length it has not compared with the bytes that are left.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace ingot {

static_assert(std::endian::native == std::endian::little, "file formats here are little-endian");

// The bytes must outlive the reader and every view it returns. Engine-neutral, single thread.
class ByteReader {
 public:
  ByteReader(std::span<const std::byte> bytes, std::string_view source)
      : bytes_(bytes), source_(source) {}

  template <class T>
  requires std::is_trivially_copyable_v<T> Result<T> read(std::string_view field) {
    if (remaining() < sizeof(T)) return cut_off(field, sizeof(T));
    T value;
    std::memcpy(&value, bytes_.data() + offset_, sizeof(T));
    offset_ += sizeof(T);
    return value;
  }
  // A view of the next `size` bytes; nothing is copied.
  Result<std::span<const std::byte>> bytes(uint64_t size, std::string_view field);
  Result<std::string_view> text(uint64_t size, std::string_view field);
  Status skip(uint64_t size, std::string_view field);
  // Moves forward to a multiple of `alignment` (counted from the start of the span).
  Status align(uint64_t alignment, std::string_view field);

  uint64_t offset() const { return offset_; }
  uint64_t remaining() const { return bytes_.size() - offset_; }
  const std::string& source() const { return source_; }

  // "<source>: <field> at offset N: <what>"; `at` defaults to the current position.
  Status error(std::string_view field, std::string_view what) const {
    return error(field, offset_, what);
  }
  Status error(std::string_view field, uint64_t at, std::string_view what) const;

 private:
  Status cut_off(std::string_view field, uint64_t wanted) const;

  std::span<const std::byte> bytes_;
  std::string source_;
  size_t offset_ = 0;
};

}  // namespace ingot
