// SPDX-License-Identifier: Apache-2.0
#include "server/page.h"

#include <string>

// Defined by page_data.S; symbols of the assembler are no constants of ours to rename.
extern "C" {
// NOLINTNEXTLINE(readability-identifier-naming): see above
extern const char ingot_page_begin[];
// NOLINTNEXTLINE(readability-identifier-naming): see above
extern const char ingot_page_end[];
// NOLINTNEXTLINE(readability-identifier-naming): see above
extern const char ingot_page_policy_begin[];
// NOLINTNEXTLINE(readability-identifier-naming): see above
extern const char ingot_page_policy_end[];
}

namespace ingot {

std::string_view web_page() {
  return {ingot_page_begin, ingot_page_end};
}

HttpHead web_page_head() {
  return {.content_type = "text/html; charset=utf-8",
          .headers = {{"Content-Security-Policy",
                       std::string(ingot_page_policy_begin, ingot_page_policy_end)},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Referrer-Policy", "no-referrer"},
                      {"Cache-Control", "no-cache"}}};
}

}  // namespace ingot
