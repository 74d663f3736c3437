// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/split_pattern.h"

#include "base/limits.h"
#include "tokenizer/unicode.h"

namespace ingot::tok {

SplitPattern SplitPattern::literal(std::string text) {
  SplitPattern pattern;
  pattern.literal_ = std::move(text);
  return pattern;
}

Result<SplitPattern> SplitPattern::regex(std::string_view text, std::string_view source) {
  SplitPattern pattern;
  pattern.scanner_ = find_scanner(text);
  if (pattern.scanner_ == nullptr) {
    INGOT_TRY(pattern.regex_, Regex::compile(text, source));
  }
  return pattern;
}

Status SplitPattern::find_all(std::string_view text, std::vector<Span>& spans) const {
  if (scanner_ != nullptr) {
    scanner_(text, spans);
    return Status::ok();
  }
  if (regex_) return regex_->find_all(text, spans);
  SpanList list(text, spans);
  if (literal_->empty()) {
    // An empty literal is an empty regular expression: it matches between all characters.
    for (size_t at = 0; at < text.size(); at += char_at(text, at).size)
      list.match(at, at);
    if (!text.empty()) list.match(text.size(), text.size());
  } else {
    for (size_t at = text.find(*literal_); at != std::string_view::npos;
         at = text.find(*literal_, at + literal_->size())) {
      list.match(at, at + literal_->size());
    }
  }
  list.finish();
  return Status::ok();
}

Status check_growth(const std::string& text) {
  if (text.size() <= limits::kEncodedTextBytes) return Status::ok();
  return Status::resource_exhausted("the tokenizer's replacements grow this text past {} bytes",
                                    limits::kEncodedTextBytes);
}

namespace {

Status replace_literal(std::string_view from, std::string_view to, std::string& text) {
  size_t found = text.find(from);
  if (found == std::string::npos) return Status::ok();
  std::string out;
  out.reserve(text.size() + text.size() / 4);
  size_t at = 0;
  for (; found != std::string::npos; found = text.find(from, at)) {
    out.append(text, at, found - at);
    out += to;
    at = found + from.size();
    INGOT_TRY(check_growth(out));
  }
  out.append(text, at);
  text = std::move(out);
  return Status::ok();
}

}  // namespace

Status replace_all(const SplitPattern& pattern, std::string_view content, std::string& text) {
  if (pattern.literal_text() && !pattern.literal_text()->empty()) {
    return replace_literal(*pattern.literal_text(), content, text);
  }
  std::vector<Span> spans;
  INGOT_TRY(pattern.find_all(text, spans));
  std::string replaced;
  replaced.reserve(text.size());
  bool has_match = false;
  for (const Span& span : spans) {
    has_match = has_match || span.is_match;
    replaced +=
        span.is_match ? content : std::string_view(text).substr(span.begin, span.end - span.begin);
    INGOT_TRY(check_growth(replaced));
  }
  if (has_match) text = std::move(replaced);
  return Status::ok();
}

}  // namespace ingot::tok
