// SPDX-License-Identifier: Apache-2.0
#include "bench/url.h"

#include <algorithm>
#include <charconv>

namespace ingot {
namespace {

// What would end a request line or a header early must not get there.
bool is_safe(std::string_view text) {
  return std::ranges::none_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= 0x20 || byte == 0x7F;
  });
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

Result<uint16_t> parse_port(std::string_view text, std::string_view field) {
  uint16_t port = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (problem != std::errc() || end != text.data() + text.size() || port == 0)
    return Status::invalid_argument("{}: port '{}' is not a number from 1 to 65535", field, text);
  return port;
}

}  // namespace

Result<Url> parse_url(std::string_view text, std::string_view field) {
  const std::string_view whole = text;
  if (!is_safe(text) || text.empty())
    return Status::invalid_argument("{}: '{}' is not a URL", field, whole);
  Url url;
  if (take(text, "unix:")) {
    take(text, "//");
    if (text.empty())
      return Status::invalid_argument("{}: '{}' names no socket; write unix:/path", field, whole);
    url.scheme = Url::Scheme::kUnix;
    url.host = "localhost";
    url.socket = text;
    return url;
  }
  if (take(text, "https://")) {
    url.scheme = Url::Scheme::kHttps;
    url.port = 443;
  } else if (!take(text, "http://") && text.find("://") != std::string_view::npos) {
    return Status::invalid_argument("{}: '{}' is none of http://, https:// and unix:", field,
                                    whole);
  }
  text = text.substr(0, text.find_first_of("?#"));
  const size_t slash = std::min(text.find('/'), text.size());
  std::string_view authority = text.substr(0, slash);
  url.path = text.substr(slash);
  url.path.erase(url.path.find_last_not_of('/') + 1);
  if (authority.find('@') != std::string_view::npos)
    return Status::invalid_argument("{}: user names in URLs are not sent; use --header", field);
  std::string_view port;
  if (take(authority, "[")) {
    const size_t end = authority.find(']');
    if (end == std::string_view::npos)
      return Status::invalid_argument("{}: '{}' has no ']' after its address", field, whole);
    url.host = authority.substr(0, end);
    port = authority.substr(end + 1);
  } else {
    const size_t colon = std::min(authority.find(':'), authority.size());
    url.host = authority.substr(0, colon);
    port = authority.substr(colon);
  }
  if (url.host.empty()) return Status::invalid_argument("{}: '{}' names no host", field, whole);
  if (!port.empty()) {
    if (!take(port, ":")) return Status::invalid_argument("{}: '{}' is not a URL", field, whole);
    INGOT_TRY(url.port, parse_port(port, field));
  }
  return url;
}

std::string Url::host_header() const {
  const std::string name =
      host.find(':') == std::string::npos ? host : fmt::format("[{}]", host);  // IPv6
  const uint16_t usual = scheme == Scheme::kHttps ? 443 : 80;
  return scheme == Scheme::kUnix || port == usual ? name : fmt::format("{}:{}", name, port);
}

std::string Url::target(std::string_view endpoint) const {
  if (path.ends_with("/v1") && endpoint.starts_with("/v1/")) endpoint.remove_prefix(3);
  return fmt::format("{}{}", path, endpoint);
}

}  // namespace ingot
