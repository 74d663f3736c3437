// SPDX-License-Identifier: Apache-2.0
// The name of a page of tokens that means the same in every process: a SHA-256 chain from the
// namespace over the token runs of all pages before it. Two pages with equal keys hold keys and
// values of equal prefixes, so tiers below the cache can find a page without the tree.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "model/batch.h"

namespace ingot {

// What separates prefixes that must never be shared: tenants (salt) and everything else that
// changes keys and values of equal tokens (rope_class: rope scaling chosen by length, adapters...).
struct PrefixNamespace {
  std::string salt = {};
  int64_t rope_class = 0;
  friend auto operator<=>(const PrefixNamespace&, const PrefixNamespace&) = default;
};

struct PageKey {
  std::array<uint8_t, 32> bytes{};
  friend auto operator<=>(const PageKey&, const PageKey&) = default;
};

// The bytes are evenly spread already.
struct PageKeyHash {
  size_t operator()(const PageKey& key) const {
    size_t hash = 0;
    std::memcpy(&hash, key.bytes.data(), sizeof(hash));
    return hash;
  }
};

PageKey sha256(std::span<const std::byte> bytes);
// The key of a namespace's root, the parent of its first pages. The salt cannot be read from it.
PageKey namespace_key(const PrefixNamespace& space);
PageKey child_key(const PageKey& parent, std::span<const TokenId> tokens);

}  // namespace ingot
