// SPDX-License-Identifier: Apache-2.0
#include "server/api_keys.h"

#include <openssl/sha.h>

#include <charconv>

#include "base/limits.h"

namespace ingot {
namespace {

constexpr std::string_view kBlanks = " \t\r";

KeyDigest digest_of(std::string_view key) {
  KeyDigest digest;
  SHA256(reinterpret_cast<const unsigned char*>(key.data()), key.size(), digest.data());
  return digest;
}

std::string hex(const KeyDigest& digest, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i)
    text += fmt::format("{:02x}", digest[i]);
  return text;
}

std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
  line.remove_prefix(word.size());
  return word;
}

Status read_setting(std::string_view word, ApiKey& key) {
  const size_t equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  const std::string_view value =
      equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1);
  if (name == "name" && !value.empty() && value.size() <= limits::kApiKeyNameBytes) {
    key.name = value;
    return Status::ok();
  }
  int64_t number = 0;
  const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool is_number = problem == std::errc() && end == value.data() + value.size() && number > 0;
  if (is_number && name == "running") {
    key.max_running = number;
  } else if (is_number && name == "queue") {
    key.max_queued = number;
  } else {
    return Status::invalid_argument("after a key come name=NAME, running=N or queue=N");
  }
  return Status::ok();
}

}  // namespace

Result<ApiKeys> ApiKeys::parse(std::string_view text, std::string_view source) {
  ApiKeys keys;
  size_t number = 0;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    ++number;
    const std::string_view secret = next_word(line);
    if (secret.empty() || secret.front() == '#') continue;
    ApiKey key;
    key.digest = digest_of(secret);
    key.name = "key-" + hex(key.digest, 3);
    key.salt = hex(key.digest, key.digest.size());
    for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
      const Status status = read_setting(word, key);
      if (!status.is_ok()) return status.with_context(fmt::format("{}:{}", source, number));
    }
    if (secret.size() < limits::kApiKeyLeastBytes || secret.size() > limits::kApiKeyBytes) {
      return Status::invalid_argument("{}:{}: a key has {} to {} characters", source, number,
                                      limits::kApiKeyLeastBytes, limits::kApiKeyBytes);
    }
    if (keys.size() == limits::kApiKeys)
      return Status::resource_exhausted("{}: more than {} keys", source, limits::kApiKeys);
    keys.keys_.push_back(std::move(key));
  }
  return keys;
}

Status ApiKeys::add(const ApiKeys& others) {
  keys_.insert(keys_.end(), others.keys_.begin(), others.keys_.end());
  return keys_.size() <= limits::kApiKeys
             ? Status::ok()
             : Status::resource_exhausted("more than {} keys", limits::kApiKeys);
}

std::optional<size_t> ApiKeys::find(std::string_view presented) const {
  // Digests first: what the comparison could tell is then not about the key. And all of every one,
  // so that it tells nothing about which came close.
  const KeyDigest digest = digest_of(presented);
  size_t found = keys_.size();
  for (size_t i = 0; i < keys_.size(); ++i) {
    unsigned difference = 0;
    for (size_t b = 0; b < digest.size(); ++b)
      difference |= static_cast<unsigned>(digest[b] ^ keys_[i].digest[b]);
    const size_t mask = (static_cast<size_t>(difference) + 255) / 256;  // 0: equal, 1: not
    found = found * mask + i * (1 - mask);
  }
  if (found == keys_.size()) return std::nullopt;
  return found;
}

}  // namespace ingot
