// SPDX-License-Identifier: Apache-2.0
// One request as OpenTelemetry sees it, and who takes such spans. Plain data.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "server/http_message.h"

namespace ingot {

struct Span {
  using Value = std::variant<std::string, int64_t, double>;
  TraceContext trace = {};
  std::string name = {};
  std::chrono::system_clock::time_point begin = {}, end = {};
  std::vector<std::pair<std::string, Value>> attributes = {};
  bool is_error = false;
};

struct SpanCounts {
  int64_t exported = 0;
  int64_t dropped = 0;
};

// Thread-safe.
class SpanSink {
 public:
  virtual ~SpanSink() = default;
  virtual void take(Span span) = 0;  // never waits
  virtual SpanCounts counts() const = 0;
};

}  // namespace ingot
