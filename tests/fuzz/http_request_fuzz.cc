// SPDX-License-Identifier: Apache-2.0
// Bytes of a connection, cut at places that the input itself chooses.
#include <algorithm>
#include <cstdint>
#include <string>

#include "server/http_parser.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const size_t step = 1 + data[0] % 64;
  ingot::HttpLimits limits;
  limits.body_bytes = 4096;
  std::string inbox;
  ingot::HttpParser parser(limits);
  for (size_t at = 1; at < size; at += step) {
    inbox.append(reinterpret_cast<const char*>(data + at), std::min(step, size - at));
    if (parser.push(inbox)) return 0;
    if (parser.has_head() && parser.body_received() > limits.body_bytes) __builtin_trap();
    if (parser.is_done()) {
      const ingot::HttpRequest request = parser.take();
      if (request.path.empty() || request.path.front() != '/') __builtin_trap();
      return 0;
    }
  }
  return 0;
}
