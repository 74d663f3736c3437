// SPDX-License-Identifier: Apache-2.0
// One key-value or tensor record of a GGUF file while it is read: every refusal names it. The words
// are put together only when something is wrong, because a file may hold a million records.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/byte_reader.h"
#include "formats/quote_name.h"

namespace ingot {

// Borrows the reader; `kind` is a literal. Single thread.
class GgufField {
 public:
  GgufField(ByteReader& reader, std::string_view kind, uint64_t number)
      : reader_(reader), kind_(kind), number_(number), begin_(reader.offset()) {}

  // The record's name, which stands first: not empty, valid UTF-8, nothing a terminal would obey.
  Result<std::string_view> read_name();
  template <class T>
  Result<T> read() {
    if (reader_.remaining() < sizeof(T)) return reader_.skip(sizeof(T), describe());
    return reader_.read<T>({});
  }
  Result<std::span<const std::byte>> bytes(uint64_t size) {
    if (reader_.remaining() < size) return reader_.skip(size, describe());
    return reader_.bytes(size, {});
  }
  uint64_t begin() const { return begin_; }
  uint64_t remaining() const { return reader_.remaining(); }
  uint64_t offset() const { return reader_.offset(); }
  // Blames the record as a whole, or the byte `at`.
  Status error(std::string_view what) const { return error(begin_, what); }
  Status error(uint64_t at, std::string_view what) const {
    return reader_.error(describe(), at, what);
  }

 private:
  std::string describe() const;

  ByteReader& reader_;
  std::string_view kind_;
  uint64_t number_;
  uint64_t begin_;
  std::string_view name_;
};

}  // namespace ingot
