// SPDX-License-Identifier: Apache-2.0
#include "api/stop_strings.h"

#include <algorithm>
#include <utility>

namespace ingot {
namespace {

// Length of the longest suffix of `text` that begins `stop` without being all of it.
size_t unfinished_match(std::string_view text, std::string_view stop) {
  for (size_t length = std::min(text.size(), stop.size() - 1); length > 0; --length) {
    if (text.ends_with(stop.substr(0, length))) return length;
  }
  return 0;
}

}  // namespace

StopStrings::StopStrings(std::vector<std::string> stops) : stops_(std::move(stops)) {
  std::erase_if(stops_, [](const std::string& stop) { return stop.empty(); });
}

std::string StopStrings::push(std::string_view piece) {
  if (has_matched()) return {};
  held_ += piece;
  size_t match = std::string::npos;
  size_t hold = 0;
  for (const std::string& stop : stops_) {
    if (const size_t found = held_.find(stop); found < match) {
      match = found;
      matched_ = stop;
    }
    hold = std::max(hold, unfinished_match(held_, stop));
  }
  if (match != std::string::npos) {
    held_.resize(match);
    return std::exchange(held_, {});
  }
  std::string text = held_.substr(0, held_.size() - hold);
  held_.erase(0, text.size());
  return text;
}

std::string StopStrings::finish() {
  return std::exchange(held_, {});
}

}  // namespace ingot
