// SPDX-License-Identifier: Apache-2.0
#include "base/checksum.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace ingot {
namespace {

uint64_t checksum_of(std::string_view text) {
  return checksum64(std::as_bytes(std::span(text)));
}

// Published values of XXH64 with seed 0.
TEST(Checksum, IsXxh64) {
  EXPECT_EQ(checksum_of(""), 0xEF46DB3751D8E999);
  EXPECT_EQ(checksum_of("a"), 0xD24EC4F1A98C6E5B);
  EXPECT_EQ(checksum_of("abc"), 0x44BC2CF5AD770999);
  EXPECT_EQ(checksum_of("Nobody inspects the spammish repetition"), 0xFBCEA83C8A378BF1);
}

TEST(Checksum, SeesEveryBitOfEveryLength) {
  for (size_t size = 1; size < 80; ++size) {
    std::string text(size, 'x');
    const uint64_t whole = checksum_of(text);
    for (size_t i = 0; i < size; ++i) {
      text[i] = 'y';
      EXPECT_NE(checksum_of(text), whole);
      text[i] = 'x';
    }
    EXPECT_NE(checksum_of(text.substr(1)), whole);
  }
}

}  // namespace
}  // namespace ingot
