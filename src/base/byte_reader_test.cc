// SPDX-License-Identifier: Apache-2.0
#include "base/byte_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ingot {
namespace {

using testing::HasSubstr;

ByteReader reader_of(std::string_view text) {
  return {std::as_bytes(std::span(text)), "file"};
}

TEST(ByteReader, ReadsLittleEndianNumbersAndViews) {
  ByteReader reader = reader_of(std::string_view("\1\2\0\0\0\3\0\0\0\0\0\0\0abc", 16));
  EXPECT_EQ(*reader.read<uint8_t>("a"), 1);
  EXPECT_EQ(*reader.read<uint32_t>("b"), 2u);
  EXPECT_EQ(*reader.read<uint64_t>("c"), 3u);
  EXPECT_EQ(reader.offset(), 13u);
  EXPECT_EQ(*reader.text(3, "d"), "abc");
  EXPECT_EQ(reader.remaining(), 0u);
  EXPECT_TRUE(reader.bytes(0, "e").is_ok());
}

TEST(ByteReader, NamesFileFieldOffsetAndSizesWhenCutOff) {
  ByteReader reader = reader_of("abcde");
  ASSERT_TRUE(reader.skip(2, "start").is_ok());
  const std::string message = reader.read<uint32_t>("count").status().message();
  EXPECT_THAT(message,
              HasSubstr("file: count at offset 2: needs 4 bytes but only 3 of 5 are left"));
  EXPECT_EQ(reader.offset(), 2u);  // a refused read moves nothing
}

TEST(ByteReader, RefusesLengthsThatWouldWrap) {
  ByteReader reader = reader_of("abcde");
  ASSERT_TRUE(reader.skip(1, "x").is_ok());
  for (const uint64_t size : {uint64_t{5}, uint64_t{1} << 63, UINT64_MAX, UINT64_MAX - 1}) {
    EXPECT_FALSE(reader.bytes(size, "x").is_ok()) << size;
    EXPECT_FALSE(reader.text(size, "x").is_ok()) << size;
    EXPECT_FALSE(reader.skip(size, "x").is_ok()) << size;
  }
  EXPECT_EQ(reader.offset(), 1u);
}

TEST(ByteReader, AlignsForward) {
  ByteReader reader = reader_of("0123456789");
  ASSERT_TRUE(reader.align(8, "x").is_ok());
  EXPECT_EQ(reader.offset(), 0u);
  ASSERT_TRUE(reader.skip(1, "x").is_ok());
  ASSERT_TRUE(reader.align(8, "x").is_ok());
  EXPECT_EQ(reader.offset(), 8u);
  ASSERT_TRUE(reader.skip(1, "x").is_ok());
  EXPECT_THAT(reader.align(8, "data").message(), HasSubstr("data at offset 9: needs 7 bytes"));
  EXPECT_FALSE(reader.align(0, "x").is_ok());
  EXPECT_FALSE(reader.align(uint64_t{1} << 63, "x").is_ok());
}

}  // namespace
}  // namespace ingot
