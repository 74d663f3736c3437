// SPDX-License-Identifier: Apache-2.0
// A request as a route sees it and the reply as it leaves, free of sockets: everything about the
// wire has been checked before a route is asked.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ingot {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// W3C trace context of a request; see trace.h. Identifiers are lower-case hexadecimal digits.
struct TraceContext {
  std::string trace_id = {};   // 32
  std::string parent_id = {};  // 16, the caller's span; empty: the trace begins here
  std::string span_id = {};    // 16, ours
  std::string state = {};      // tracestate, to be passed on
  bool is_sampled = false;
};

struct HttpRequest {
  std::string method = {};
  std::string path = {};     // without the query
  std::string query = {};    // after the question mark
  HttpHeaders headers = {};  // names in lower case
  std::string body = {};
  std::string id = {};          // of the request: the client's X-Request-Id, or ours
  TraceContext trace = {};      // the caller's, or a new one
  std::string key_name = {};    // whose API key it came with
  std::string cache_salt = {};  // prefixes are shared only within it: the key's namespace

  // The first header of this (lower-case) name; empty where there is none.
  std::string_view header(std::string_view name) const {
    for (const auto& [key, value] : headers) {
      if (key == name) return value;
    }
    return {};
  }
};

struct HttpHead {
  int status = 200;
  std::string content_type = "application/json";
  HttpHeaders headers = {};
};

}  // namespace ingot
