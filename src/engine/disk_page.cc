// SPDX-License-Identifier: Apache-2.0
#include "engine/disk_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/byte_reader.h"
#include "base/check.h"
#include "base/checksum.h"

namespace ingot {
namespace {

constexpr std::string_view kMagic = "INGOTKVP";
constexpr uint32_t kVersion = 1;

template <class T>
void append_value(std::vector<std::byte>& to, const T& value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  to.insert(to.end(), bytes.begin(), bytes.end());
}

struct Lengths {
  uint32_t tokens = 0;
  uint32_t layout = 0;
};

Status read_digest(ByteReader& reader, std::string_view field, std::array<uint8_t, 32>& out) {
  INGOT_TRY(const auto bytes, reader.bytes(out.size(), field));
  std::ranges::copy(bytes, std::as_writable_bytes(std::span(out)).begin());
  return Status::ok();
}

Status check_limits(const ByteReader& reader, const DiskPageHeader& header, Lengths lengths) {
  if (header.page.id.group >= limits::kKvPageGroups)
    return reader.error("group", "is out of range");
  if (header.payload_bytes > limits::kKvPageBytes)
    return reader.error("payload bytes", "are too many");
  if (header.page_tokens == 0 || header.page_tokens > limits::kKvPageTokens)
    return reader.error("page tokens", "are out of range");
  if (lengths.tokens == 0 || lengths.tokens > header.page_tokens)
    return reader.error("token count", "is out of range");
  if (lengths.layout > limits::kKvPageLayoutBytes)
    return reader.error("layout length", "is out of range");
  return Status::ok();
}

// Everything of fixed length behind the version.
Result<Lengths> read_fixed(ByteReader& reader, DiskPageHeader& header) {
  StoredPage& page = header.page;
  Lengths lengths;
  INGOT_TRY(page.id.group, reader.read<uint32_t>("group"));
  INGOT_TRY(read_digest(reader, "fingerprint", header.fingerprint));
  INGOT_TRY(read_digest(reader, "namespace", page.space.bytes));
  INGOT_TRY(read_digest(reader, "parent", page.parent.bytes));
  INGOT_TRY(read_digest(reader, "key", page.id.key.bytes));
  INGOT_TRY(header.payload_bytes, reader.read<uint64_t>("payload bytes"));
  INGOT_TRY(header.payload_checksum, reader.read<uint64_t>("payload checksum"));
  INGOT_TRY(header.page_tokens, reader.read<uint32_t>("page tokens"));
  INGOT_TRY(lengths.tokens, reader.read<uint32_t>("token count"));
  INGOT_TRY(lengths.layout, reader.read<uint32_t>("layout length"));
  INGOT_TRY(check_limits(reader, header, lengths));
  INGOT_TRY(const auto reserved,
            reader.bytes(kDiskPageFixedBytes - reader.offset(), "reserved bytes"));
  if (std::ranges::any_of(reserved, [](std::byte byte) { return byte != std::byte{0}; }))
    return reader.error("reserved bytes", "are not zero");
  return lengths;
}

}  // namespace

uint64_t disk_page_header_bytes(const DiskPageHeader& header) {
  return kDiskPageFixedBytes + header.page.tokens.size() * sizeof(TokenId) + header.layout.size() +
         sizeof(uint64_t);
}

std::vector<std::byte> write_disk_page_header(const DiskPageHeader& header) {
  std::vector<std::byte> bytes;
  bytes.reserve(disk_page_header_bytes(header));
  for (const char letter : kMagic)
    append_value(bytes, letter);
  append_value(bytes, kVersion);
  append_value(bytes, header.page.id.group);
  append_value(bytes, header.fingerprint);
  append_value(bytes, header.page.space.bytes);
  append_value(bytes, header.page.parent.bytes);
  append_value(bytes, header.page.id.key.bytes);
  append_value(bytes, header.payload_bytes);
  append_value(bytes, header.payload_checksum);
  append_value(bytes, header.page_tokens);
  append_value(bytes, static_cast<uint32_t>(header.page.tokens.size()));
  append_value(bytes, static_cast<uint32_t>(header.layout.size()));
  bytes.resize(kDiskPageFixedBytes);  // reserved, zero
  for (const TokenId token : header.page.tokens)
    append_value(bytes, token);
  const auto layout = std::as_bytes(std::span(header.layout));
  bytes.insert(bytes.end(), layout.begin(), layout.end());
  append_value(bytes, checksum64(bytes));
  INGOT_CHECK(bytes.size() == disk_page_header_bytes(header));
  return bytes;
}

Result<DiskPageHeader> parse_disk_page_header(std::span<const std::byte> bytes,
                                              std::string_view source) {
  ByteReader reader(bytes, source);
  INGOT_TRY(const auto magic, reader.text(kMagic.size(), "magic"));
  if (magic != kMagic) return reader.error("magic", "is no page of the cache");
  INGOT_TRY(const auto version, reader.read<uint32_t>("version"));
  if (version != kVersion) {
    return Status::unsupported("{}: is of version {}; this program reads version {}", source,
                               version, kVersion);
  }
  DiskPageHeader header;
  StoredPage& page = header.page;
  INGOT_TRY(const Lengths lengths, read_fixed(reader, header));
  INGOT_TRY(const auto tokens, reader.bytes(uint64_t{lengths.tokens} * sizeof(TokenId), "tokens"));
  page.tokens.resize(lengths.tokens);
  std::ranges::copy(tokens, std::as_writable_bytes(std::span(page.tokens)).begin());
  INGOT_TRY(header.layout, reader.text(lengths.layout, "layout"));
  const uint64_t checked = checksum64(bytes.first(reader.offset()));
  INGOT_TRY(const auto checksum, reader.read<uint64_t>("header checksum"));
  if (checksum != checked) return reader.error("header checksum", "does not fit the header");
  if (child_key(page.parent, page.tokens) != page.id.key)
    return reader.error("key", "does not fit the tokens");
  return header;
}

std::string disk_page_name(const StoredId& id) {
  std::string name;
  for (const uint8_t byte : id.key.bytes)
    name += fmt::format("{:02x}", byte);
  return fmt::format("{}-{}.kvpage", name, id.group);
}

}  // namespace ingot
