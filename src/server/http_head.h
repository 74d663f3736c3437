// SPDX-License-Identifier: Apache-2.0
// The head of a reply as text.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "server/http_message.h"

namespace ingot {

struct HeadFormat {
  int status = 200;
  std::string_view content_type = {};  // empty: no body
  const HttpHeaders& headers;
  std::optional<size_t> length = {};
  bool is_chunked = false;
  bool keeps_alive = true;
};
// Characters that would end a header are left out of values.
std::string format_head(const HeadFormat& format);

std::string_view reason_phrase(int status);

}  // namespace ingot
