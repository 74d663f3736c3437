// SPDX-License-Identifier: Apache-2.0
// A regular expression from a tokenizer's file, run by PCRE2 (compiled to machine code where the
// CPU allows it) under match, depth and heap limits. No recursion: a 256 KiB stack is enough.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tokenizer/spans.h"

namespace ingot::tok {

// Immutable; thread-safe.
class Regex {
 public:
  // `pattern` in Oniguruma's dialect; `source` names the file in errors.
  static Result<Regex> compile(std::string_view pattern, std::string_view source);
  // Divides `text` (valid UTF-8) by the non-overlapping matches, leftmost first.
  Status find_all(std::string_view text, std::vector<Span>& spans) const;

 private:
  struct Code;
  explicit Regex(std::shared_ptr<const Code> code) : code_(std::move(code)) {}
  std::shared_ptr<const Code> code_;
};

}  // namespace ingot::tok
