// SPDX-License-Identifier: Apache-2.0
// Where a server is: http://host:port/path, https://... or unix:/path/of/socket.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace ingot {

// Immutable once parsed.
struct Url {
  enum class Scheme : uint8_t { kHttp, kHttps, kUnix };
  Scheme scheme = Scheme::kHttp;
  std::string host = {};  // without brackets; "localhost" of a Unix socket
  uint16_t port = 80;
  std::string path =
      {};  // what all targets begin with: empty, or "/..." without a slash at the end
  std::string socket = {};  // of a Unix socket

  // The Host header: the port only where it is not the scheme's own.
  std::string host_header() const;
  // path + endpoint, with a doubled "/v1" said once: base URLs are written with and without it.
  std::string target(std::string_view endpoint) const;
};

// "127.0.0.1:8080" alone is http. `field` is for the message.
Result<Url> parse_url(std::string_view text, std::string_view field);

}  // namespace ingot
