// SPDX-License-Identifier: Apache-2.0
// Server-sent events out of a byte stream that may be cut anywhere. Only `data` matters here:
// names, ids and comments are skipped.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace ingot {

// Single thread.
class SseParser {
 public:
  // Hears the data of each whole event; several `data` lines are joined by newlines.
  using Handler = std::function<void(std::string_view data)>;
  // An error when an event grows past `limits::kConfigBytes`.
  Status push(std::string_view bytes, const Handler& handler);
  // The stream has ended: an event without its blank line still counts, as servers forget it.
  void finish(const Handler& handler);

 private:
  void take_line(std::string_view line, const Handler& handler);

  std::string line_;  // begun, not ended
  std::string data_;
  bool has_data_ = false;
  bool after_cr_ = false;  // a line feed that follows belongs to the line that has ended
};

}  // namespace ingot
