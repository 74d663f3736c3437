// SPDX-License-Identifier: Apache-2.0
// How a pattern divides a text: stretches that it matches and stretches between them, in order,
// which together cover the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace ingot::tok {

// Texts are shorter than limits::kEncodedTextBytes, so 32 bits hold every place.
struct Span {
  Span(size_t from, size_t to, bool matches)
      : begin(static_cast<uint32_t>(from)), end(static_cast<uint32_t>(to)), is_match(matches) {}

  uint32_t begin;
  uint32_t end;
  bool is_match;
};

// Collects the matches of one text from left to right and fills in what lies between.
class SpanList {
 public:
  SpanList(std::string_view text, std::vector<Span>& out) : text_(text), out_(&out) { out.clear(); }

  void match(size_t begin, size_t end) {
    if (covered_ != begin) out_->emplace_back(covered_, begin, false);
    out_->emplace_back(begin, end, true);
    covered_ = end;
  }
  void finish() {
    if (text_.empty() || covered_ != text_.size())
      out_->emplace_back(covered_, text_.size(), false);
  }

 private:
  std::string_view text_;
  std::vector<Span>* out_;
  size_t covered_ = 0;
};

}  // namespace ingot::tok
