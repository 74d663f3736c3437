// SPDX-License-Identifier: Apache-2.0
// Whether a browser's request comes from our own page, and whether the name it asked for is ours:
// what keeps other sites' pages, and names that point here (DNS rebinding), away from a local
// server.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ingot {

// `origin` is "scheme://host[:port]", `host` is "host[:port]".
bool is_same_origin(std::string_view origin, std::string_view host);

// Addresses and "localhost" cannot be made to point elsewhere; other names must be listed.
bool is_own_host(std::string_view host, std::span<const std::string> allowed);

}  // namespace ingot
