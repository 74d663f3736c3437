// SPDX-License-Identifier: Apache-2.0
#include "server/origin.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

namespace ingot {
namespace {

// Without the port and the brackets of an address.
std::string_view name_of(std::string_view host) {
  if (host.starts_with('[')) {
    const size_t end = host.find(']');
    return end == std::string_view::npos ? std::string_view() : host.substr(1, end - 1);
  }
  return host.substr(0, host.find(':'));
}

bool is_address(std::string_view name) {
  std::array<unsigned char, 16> bytes;
  const std::string text(name);
  return ::inet_pton(AF_INET, text.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1;
}

}  // namespace

bool is_same_origin(std::string_view origin, std::string_view host) {
  const size_t scheme = origin.find("://");
  return scheme != std::string_view::npos && !host.empty() && origin.substr(scheme + 3) == host;
}

bool is_own_host(std::string_view host, std::span<const std::string> allowed) {
  if (host.empty()) return true;  // HTTP/1.0: no browser
  const std::string_view name = name_of(host);
  if (name == "localhost" || is_address(name)) return true;
  return std::ranges::any_of(
      allowed, [&](const std::string& entry) { return entry == "*" || entry == name; });
}

}  // namespace ingot
