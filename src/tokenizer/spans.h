// SPDX-License-Identifier: Apache-2.0
// How a pattern divides a text: stretches that it matches and stretches between them, in order,
// which together cover the text.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace ingot::tok {

struct Span {
  size_t begin = 0;
  size_t end = 0;
  bool is_match = false;
};

// Collects the matches of one text from left to right and fills in what lies between.
class SpanList {
 public:
  SpanList(std::string_view text, std::vector<Span>& out) : text_(text), out_(&out) { out.clear(); }

  void match(size_t begin, size_t end) {
    if (covered_ != begin) out_->push_back({covered_, begin, false});
    out_->push_back({begin, end, true});
    covered_ = end;
  }
  void finish() {
    if (text_.empty() || covered_ != text_.size()) out_->push_back({covered_, text_.size(), false});
  }

 private:
  std::string_view text_;
  std::vector<Span>* out_;
  size_t covered_ = 0;
};

}  // namespace ingot::tok
