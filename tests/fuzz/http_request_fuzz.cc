// SPDX-License-Identifier: Apache-2.0
// Bytes of a connection, cut at places that the input itself chooses: whatever they are, they mean
// the same as in one piece, or a proxy and we could be made to disagree.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/http_parser.h"

namespace {

void require(bool claim) {
  if (!claim) __builtin_trap();
}

struct Outcome {
  std::optional<ingot::HttpRequest> request;
  std::string rest;  // what belongs to the next request
  bool is_refused = false;
};

Outcome parse(std::string_view bytes, size_t step) {
  ingot::HttpLimits limits;
  limits.body_bytes = 4096;
  ingot::HttpParser parser(limits);
  Outcome outcome;
  std::string inbox;
  for (size_t at = 0; at < bytes.size() && !outcome.is_refused; at += step) {
    inbox.append(bytes.substr(at, step));
    // The head comes alone, then the body: a caller pushes until nothing changes.
    for (bool had_head = false; !parser.is_done() && !outcome.is_refused;) {
      outcome.is_refused = parser.push(inbox).has_value();
      if (had_head == parser.has_head()) break;
      had_head = true;
    }
    require(outcome.is_refused || !parser.has_head() ||
            parser.body_received() <= limits.body_bytes);
    if (outcome.is_refused || !parser.is_done()) continue;
    outcome.request = parser.take();
    require(outcome.request->path.starts_with('/'));
    outcome.rest = inbox + std::string(bytes.substr(std::min(at + step, bytes.size())));
    return outcome;
  }
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  const Outcome whole = parse(bytes, bytes.size());
  const Outcome pieces = parse(bytes, 1 + data[0] % 64);
  require(whole.request.has_value() == pieces.request.has_value());
  if (!whole.request) return 0;
  require(whole.request->method == pieces.request->method);
  require(whole.request->path == pieces.request->path);
  require(whole.request->headers == pieces.request->headers);
  require(whole.request->body == pieces.request->body);
  require(whole.rest == pieces.rest);
  return 0;
}
