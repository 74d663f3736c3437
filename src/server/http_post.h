// SPDX-License-Identifier: Apache-2.0
// One POST to one place, with a deadline for all of it: how the server tells a collector. The only
// connections this program opens by itself, and only where the operator said so.
#pragma once

#include <chrono>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/status.h"

namespace ingot {

struct HttpEndpoint {
  bool is_tls = false;
  std::string host = {};  // without the brackets of an IPv6 address
  std::string port = {};
  std::string target = {};  // path and query
};
// "http://host:4318/v1/traces". `field` names it in errors.
Result<HttpEndpoint> parse_endpoint(std::string_view url, std::string_view field);

struct HttpPost {
  HttpEndpoint endpoint;
  std::string content_type;
  std::string body;
};
// The status of the reply. Blocks; gives up at `deadline`, and when `stop` is asked for.
Result<int> http_post(const HttpPost& post, std::chrono::steady_clock::time_point deadline,
                      const std::stop_token& stop);

}  // namespace ingot
