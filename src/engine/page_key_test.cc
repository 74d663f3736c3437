// SPDX-License-Identifier: Apache-2.0
#include "engine/page_key.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string_view>

namespace ingot {
namespace {

std::string hex(const PageKey& key) {
  std::string text;
  for (const uint8_t byte : key.bytes)
    text += fmt::format("{:02x}", byte);
  return text;
}

std::string sha256_of(std::string_view text) {
  return hex(sha256(std::as_bytes(std::span(text))));
}

// The examples of FIPS 180-4, and lengths around the end of a block.
TEST(PageKey, HashesAsTheStandardSays) {
  EXPECT_EQ(sha256_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_of(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(PageKey, SeparatesNamespacesParentsAndTokens) {
  const PageKey plain = namespace_key({});
  EXPECT_NE(plain, namespace_key({.salt = "a"}));
  EXPECT_NE(plain, namespace_key({.rope_class = 1}));
  const std::array<TokenId, 2> one = {1, 2};
  const std::array<TokenId, 2> other = {1, 3};
  EXPECT_NE(child_key(plain, one), child_key(plain, other));
  EXPECT_NE(child_key(plain, one), child_key(child_key(plain, one), one));
  EXPECT_EQ(child_key(plain, one), child_key(plain, one));
}

}  // namespace
}  // namespace ingot
