// SPDX-License-Identifier: Apache-2.0
// What a client may send and how long it may take: the defaults are base/limits.h's, every one has
// a flag of `ingot serve`. Plain data.
#pragma once

#include <chrono>
#include <cstddef>

#include "base/limits.h"

namespace ingot {

struct HttpLimits {
  size_t header_bytes = limits::kHttpHeaderBytes;        // request line and all headers
  size_t header_line_bytes = limits::kHttpHeaderLine;    // one of them
  size_t headers = limits::kHttpHeaders;                 // how many
  size_t body_bytes = limits::kRequestBytes;             // decoded, also of chunked bodies
  size_t all_bodies_bytes = 256 * limits::kMiB;          // of all connections, while they are read
  size_t connections = limits::kHttpConnections;         // open at the same time
  size_t send_buffer_bytes = limits::kHttpSendBuffer;    // of one stream, then its sequence rests
  std::chrono::milliseconds header_time{10'000};         // for a whole head
  std::chrono::milliseconds body_grace{5'000};           // before the least rate counts
  size_t body_bytes_per_second = limits::kHttpBodyRate;  // least rate of a body
  std::chrono::milliseconds write_stall{30'000};         // without the client taking a byte
  std::chrono::milliseconds keep_alive{60'000};          // between two requests
};

}  // namespace ingot
