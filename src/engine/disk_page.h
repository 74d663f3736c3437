// SPDX-License-Identifier: Apache-2.0
// The header of a cached page on disk, written and read; docs/formats/kv-page.md has the bytes.
// What comes from a file is bounded by limits.h, and its key must be the one its contents give.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/limits.h"
#include "base/status.h"
#include "engine/page_store.h"

namespace ingot {

struct DiskPageHeader {
  std::array<uint8_t, 32> fingerprint{};
  std::string layout;
  uint32_t page_tokens = 0;
  StoredPage page;
  uint64_t payload_bytes = 0;
  uint64_t payload_checksum = 0;
};

inline constexpr size_t kDiskPageFixedBytes = 192;
// No header is longer.
inline constexpr size_t kDiskPageHeaderLimit = kDiskPageFixedBytes +
                                               limits::kKvPageTokens * sizeof(TokenId) +
                                               limits::kKvPageLayoutBytes + sizeof(uint64_t);

std::vector<std::byte> write_disk_page_header(const DiskPageHeader& header);
// Reads the header at the front of `bytes`. kUnsupported: of another version; any other error:
// broken.
Result<DiskPageHeader> parse_disk_page_header(std::span<const std::byte> bytes,
                                              std::string_view source);
uint64_t disk_page_header_bytes(const DiskPageHeader& header);
// 64 hexadecimal digits of the key, the group, ".kvpage".
std::string disk_page_name(const StoredId& id);

}  // namespace ingot
