// SPDX-License-Identifier: Apache-2.0
// Who may ask: keys from a file or the environment, kept only as digests. Looking one up takes the
// same time whatever is presented.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace ingot {

using KeyDigest = std::array<uint8_t, 32>;  // SHA-256

struct ApiKey {
  KeyDigest digest = {};
  std::string name = {};    // for logs and metrics: given, or "key-" and six digits of the digest
  int64_t max_running = 0;  // 0: the server's default
  int64_t max_queued = 0;
  std::string salt = {};  // of its cached prefixes
};

// Immutable.
class ApiKeys {
 public:
  // Lines of `KEY [name=NAME] [running=N] [queue=N]`; empty ones and those that begin with # say
  // nothing. `source` names the text in errors, which never show a key.
  static Result<ApiKeys> parse(std::string_view text, std::string_view source);
  Status add(const ApiKeys& others);

  bool is_empty() const { return keys_.empty(); }
  size_t size() const { return keys_.size(); }
  const ApiKey& at(size_t index) const { return keys_[index]; }
  // Compares with every key, all of each.
  std::optional<size_t> find(std::string_view presented) const;

 private:
  std::vector<ApiKey> keys_;
};

}  // namespace ingot
