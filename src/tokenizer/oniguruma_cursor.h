// SPDX-License-Identifier: Apache-2.0
// A position in an Oniguruma pattern, and what a backslash means there. Shared by the translators
// of whole patterns (oniguruma.h) and of character classes (oniguruma_class.h).
#pragma once

#include <optional>
#include <string_view>

#include "base/status.h"
#include "tokenizer/oniguruma_items.h"

namespace ingot::tok::oniguruma {

// Views the pattern, which outlives it.
class PatternCursor {
 public:
  explicit PatternCursor(std::string_view pattern) : pattern_(pattern) {}

  bool is_at_end() const { return at_ >= pattern_.size(); }
  bool is_at(std::string_view text) const { return rest().starts_with(text); }
  std::string_view rest() const { return pattern_.substr(at_); }
  void skip(size_t size_bytes) { at_ += size_bytes; }
  std::string_view take(size_t size_bytes);
  // Everything through the next `end`; nothing (and nothing consumed) if there is none.
  std::optional<std::string_view> take_through(std::string_view end);
  char32_t take_char();

  // At a backslash: \s \d \w \h \p{..} and their complements; nothing (and nothing consumed) for
  // other escapes.
  Result<std::optional<Items>> escaped_set();
  // At a backslash: the one character that it and what follows stand for.
  Result<char32_t> escaped_char();

  Status error(std::string_view what) const;

 private:
  Result<std::optional<Items>> property(bool is_negated);
  Result<char32_t> hex_char(size_t least, size_t most);

  std::string_view pattern_;
  size_t at_ = 0;
};

}  // namespace ingot::tok::oniguruma
