// SPDX-License-Identifier: Apache-2.0
// W3C trace context: which trace a request belongs to, as its caller says it or as a new one. Read
// strictly, as the recommendation asks: a header that is not valid counts as none.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/http_message.h"

namespace ingot {

// Identifiers are lower-case hexadecimal digits. Empty before a request has been looked at.
struct TraceParent {
  std::string trace_id = {};   // 32, not all 0
  std::string parent_id = {};  // 16, not all 0
  bool is_sampled = false;
};
std::optional<TraceParent> parse_traceparent(std::string_view text);
// Whether a tracestate may be passed on as it is.
bool is_tracestate(std::string_view text);

// The caller's trace, or a new one that is sampled; always with a new span of ours.
TraceContext begin_trace(const HttpHeaders& headers);
// What we tell whoever we answer or ask.
std::string traceparent_text(const TraceContext& trace);

}  // namespace ingot
