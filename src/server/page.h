// SPDX-License-Identifier: Apache-2.0
// The page at `/`: chat and dashboard as one HTML file that fetches nothing but this server's own
// routes. Made from web/ by tools/pack_page.py at build time; its own target is ingot_web.
#pragma once

#include <string_view>

#include "server/http_message.h"

namespace ingot {

// UTF-8, lives as long as the program.
std::string_view web_page();

// What travels with it: type, no caching without asking, and a policy that lets exactly this page's
// scripts and styles run, by their hashes.
HttpHead web_page_head();

}  // namespace ingot
