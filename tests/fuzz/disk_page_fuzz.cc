// SPDX-License-Identifier: Apache-2.0
// Any bytes as the header of a cached page on disk: refused, or written again to the same bytes.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/checksum.h"
#include "engine/disk_page.h"

namespace {

void try_header(std::span<const std::byte> bytes) {
  const auto header = ingot::parse_disk_page_header(bytes, "fuzz");
  if (!header.is_ok()) return;
  const std::vector<std::byte> again = ingot::write_disk_page_header(*header);
  INGOT_CHECK(again.size() <= bytes.size() && again.size() <= ingot::kDiskPageHeaderLimit);
  INGOT_CHECK(std::ranges::equal(again, bytes.first(again.size())));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  try_header(bytes);
  // Once more with the checksum and the key made right, or nothing behind them is ever reached.
  constexpr size_t kParent = 80;
  constexpr size_t kKey = 112;
  constexpr size_t kTokens = 164;
  if (size < ingot::kDiskPageFixedBytes + 8) return 0;
  std::vector<std::byte> sealed(bytes.begin(), bytes.end());
  uint32_t tokens = 0;
  std::memcpy(&tokens, sealed.data() + kTokens, sizeof(tokens));
  if (tokens <= (size - ingot::kDiskPageFixedBytes) / sizeof(ingot::TokenId)) {
    ingot::PageKey parent;
    std::memcpy(parent.bytes.data(), sealed.data() + kParent, parent.bytes.size());
    std::vector<ingot::TokenId> run(tokens);
    if (tokens > 0)
      std::memcpy(run.data(), sealed.data() + ingot::kDiskPageFixedBytes,
                  tokens * sizeof(ingot::TokenId));
    const ingot::PageKey key = ingot::child_key(parent, run);
    std::memcpy(sealed.data() + kKey, key.bytes.data(), key.bytes.size());
  }
  const uint64_t checksum = ingot::checksum64(std::span(sealed).first(size - 8));
  std::memcpy(sealed.data() + size - 8, &checksum, sizeof(checksum));
  try_header(sealed);
  return 0;
}
