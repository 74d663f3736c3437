// SPDX-License-Identifier: Apache-2.0
#include "base/byte_reader.h"

#include "base/checked.h"

namespace ingot {

Result<std::span<const std::byte>> ByteReader::bytes(uint64_t size, std::string_view field) {
  if (size > remaining()) return cut_off(field, size);
  const auto view = bytes_.subspan(offset_, size);
  offset_ += size;
  return view;
}

Result<std::string_view> ByteReader::text(uint64_t size, std::string_view field) {
  INGOT_TRY(const auto view, bytes(size, field));
  return std::string_view(reinterpret_cast<const char*>(view.data()), view.size());
}

Status ByteReader::skip(uint64_t size, std::string_view field) {
  return bytes(size, field).status();
}

Status ByteReader::align(uint64_t alignment, std::string_view field) {
  const CheckedSize target = CheckedSize(offset_).round_up(alignment);
  if (!target.fits(bytes_.size())) return cut_off(field, target.value_or(UINT64_MAX) - offset_);
  offset_ = *target.value();
  return Status::ok();
}

Status ByteReader::error(std::string_view field, uint64_t at, std::string_view what) const {
  return Status::invalid_data("{}: {} at offset {}: {}", source_, field, at, what);
}

Status ByteReader::cut_off(std::string_view field, uint64_t wanted) const {
  return error(
      field,
      fmt::format("needs {} bytes but only {} of {} are left; the file is cut off or corrupt, "
                  "download it again",
                  wanted, remaining(), bytes_.size()));
}

}  // namespace ingot
