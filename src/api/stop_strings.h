// SPDX-License-Identifier: Apache-2.0
// Ends a stream of text where a stop string begins, also when the string is spread over several
// tokens: text that might still become one is held back until it is decided.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ingot {

// Single thread.
class StopStrings {
 public:
  // Empty strings are ignored.
  explicit StopStrings(std::vector<std::string> stops);

  // The part of the stream that is now known to be text. Nothing more after a match.
  std::string push(std::string_view piece);
  // The stream is over: what was held back is text after all.
  std::string finish();
  bool has_matched() const { return !matched_.empty(); }
  const std::string& matched() const { return matched_; }  // the string that ended it

 private:
  std::vector<std::string> stops_;
  std::string held_;  // shorter than the longest stop string, between calls
  std::string matched_;
};

}  // namespace ingot
