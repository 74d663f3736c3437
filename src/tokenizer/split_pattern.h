// SPDX-License-Identifier: Apache-2.0
// What a tokenizer splits or replaces by: a literal text or a regular expression, the latter run by
// a hand-written scanner where there is one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tokenizer/regex.h"
#include "tokenizer/scanners.h"
#include "tokenizer/spans.h"

namespace ingot::tok {

// Immutable; thread-safe.
class SplitPattern {
 public:
  static SplitPattern literal(std::string text);
  static Result<SplitPattern> regex(std::string_view pattern, std::string_view source);

  Status find_all(std::string_view text, std::vector<Span>& spans) const;
  const std::optional<std::string>& literal_text() const { return literal_; }

 private:
  SplitPattern() = default;
  std::optional<std::string> literal_;
  Scanner scanner_ = nullptr;
  std::optional<Regex> regex_;
};

// An error once a text under construction has outgrown limits::kEncodedTextBytes: a hostile file
// can replace one character by very many.
Status check_growth(const std::string& text);
// `text` with every match replaced by `content`.
Status replace_all(const SplitPattern& pattern, std::string_view content, std::string& text);
// Also keeps count of the bytes at the front of the text that the caller has an eye on: what
// replaces a match goes with the match's last character.
Status replace_all(const SplitPattern& pattern, std::string_view content, std::string& text,
                   size_t& front_bytes);

}  // namespace ingot::tok
