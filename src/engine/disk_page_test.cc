// SPDX-License-Identifier: Apache-2.0
#include "engine/disk_page.h"

#include <gmock/gmock.h>

#include "base/checksum.h"

namespace ingot {
namespace {

DiskPageHeader sample() {
  DiskPageHeader header;
  header.fingerprint.fill(7);
  header.layout = "f16 kv_heads=2 dim=64";
  header.page_tokens = 16;
  header.page.space = namespace_key({.salt = "tenant"});
  header.page.parent = header.page.space;
  header.page.tokens = {1, 2, 3, -4};
  header.page.id = {.key = child_key(header.page.parent, header.page.tokens), .group = 2};
  header.payload_bytes = 4096;
  header.payload_checksum = 99;
  return header;
}

// Makes the header's own checksum right again after a change.
void seal(std::vector<std::byte>& bytes) {
  const uint64_t checksum = checksum64(std::span(bytes).first(bytes.size() - 8));
  std::memcpy(bytes.data() + bytes.size() - 8, &checksum, 8);
}

Status parse_with(size_t offset, uint32_t value) {
  std::vector<std::byte> bytes = write_disk_page_header(sample());
  std::memcpy(bytes.data() + offset, &value, sizeof(value));
  seal(bytes);
  return parse_disk_page_header(bytes, "test").status();
}

TEST(DiskPage, ReadsWhatItWrote) {
  const DiskPageHeader header = sample();
  const std::vector<std::byte> bytes = write_disk_page_header(header);
  EXPECT_EQ(bytes.size(), disk_page_header_bytes(header));
  const auto read = parse_disk_page_header(bytes, "test");
  ASSERT_TRUE(read.is_ok()) << read.status().message();
  EXPECT_EQ(read->page, header.page);
  EXPECT_EQ(read->fingerprint, header.fingerprint);
  EXPECT_EQ(read->layout, header.layout);
  EXPECT_EQ(read->page_tokens, 16);
  EXPECT_EQ(read->payload_bytes, 4096);
  EXPECT_EQ(read->payload_checksum, 99);
}

TEST(DiskPage, NeverShowsTheSalt) {
  const std::vector<std::byte> bytes = write_disk_page_header(sample());
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("tenant")));
}

TEST(DiskPage, RefusesEveryChangedByteAndEveryCut) {
  const std::vector<std::byte> whole = write_disk_page_header(sample());
  for (size_t i = 0; i < whole.size(); ++i) {
    std::vector<std::byte> bytes = whole;
    bytes[i] ^= std::byte{0x20};
    EXPECT_FALSE(parse_disk_page_header(bytes, "test").is_ok()) << i;
    EXPECT_FALSE(parse_disk_page_header(std::span(whole).first(i), "test").is_ok()) << i;
  }
}

TEST(DiskPage, KeepsEveryLimit) {
  constexpr size_t kVersion = 8;
  constexpr size_t kGroup = 12;
  constexpr size_t kPayloadHigh = 148;
  constexpr size_t kPageTokens = 160;
  constexpr size_t kTokens = 164;
  constexpr size_t kLayout = 168;
  EXPECT_TRUE(parse_with(kGroup, limits::kKvPageGroups - 1).is_ok());
  EXPECT_EQ(parse_with(kVersion, 2).code(), StatusCode::kUnsupported);
  EXPECT_EQ(parse_with(kGroup, limits::kKvPageGroups).code(), StatusCode::kInvalidData);
  EXPECT_EQ(parse_with(kPayloadHigh, 1).code(), StatusCode::kInvalidData);
  EXPECT_EQ(parse_with(kPageTokens, limits::kKvPageTokens + 1).code(), StatusCode::kInvalidData);
  EXPECT_EQ(parse_with(kPageTokens, 3).code(), StatusCode::kInvalidData);
  for (const uint32_t bad : {0U, 17U, 0x7FFFFFFFU, 0xFFFFFFFFU})
    EXPECT_EQ(parse_with(kTokens, bad).code(), StatusCode::kInvalidData);
  for (const uint32_t bad : {22U, limits::kKvPageLayoutBytes + 1, 0xFFFFFFFFU})
    EXPECT_EQ(parse_with(kLayout, bad).code(), StatusCode::kInvalidData);
}

TEST(DiskPage, RefusesAKeyThatItsTokensDoNotGive) {
  DiskPageHeader header = sample();
  header.page.id.key.bytes[0] ^= 1;
  EXPECT_FALSE(parse_disk_page_header(write_disk_page_header(header), "test").is_ok());
}

TEST(DiskPage, NamesFilesByKeyAndGroup) {
  const StoredId id{.key = {}, .group = 3};
  EXPECT_EQ(disk_page_name(id), std::string(64, '0') + "-3.kvpage");
}

}  // namespace
}  // namespace ingot
