// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/split_pattern.h"

#include <algorithm>

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

// Builds the text anew, from stretches that are kept and matches that are replaced.
class Replacing {
 public:
  Replacing(std::string_view text, std::string_view content, size_t front_bytes)
      : text_(text), content_(content), front_bytes_(front_bytes) {
    out_.reserve(text.size() + text.size() / 4);
  }
  void keep(size_t begin, size_t end) {
    if (begin < front_bytes_) front_after_ += std::min(end, front_bytes_) - begin;
    out_ += text_.substr(begin, end - begin);
  }
  Status replace(size_t end) {
    if (end <= front_bytes_ && front_bytes_ > 0) front_after_ += content_.size();
    out_ += content_;
    return check_growth(out_);
  }
  void finish(std::string& text, size_t& front_bytes) {
    text = std::move(out_);
    front_bytes = front_after_;
  }

 private:
  std::string_view text_;
  std::string_view content_;
  size_t front_bytes_;
  size_t front_after_ = 0;
  std::string out_;
};

Status replace_text(std::string_view from, std::string_view to, std::string& text,
                    size_t& front_bytes) {
  size_t found = text.find(from);
  if (found == std::string::npos) return Status::ok();
  Replacing replacing(text, to, front_bytes);
  size_t at = 0;
  for (; found != std::string::npos; found = text.find(from, at)) {
    replacing.keep(at, found);
    at = found + from.size();
    INGOT_TRY(replacing.replace(at));
  }
  replacing.keep(at, text.size());
  replacing.finish(text, front_bytes);
  return Status::ok();
}

}  // namespace

Status replace_all(const SplitPattern& pattern, std::string_view content, std::string& text,
                   size_t& front_bytes) {
  if (pattern.literal_text() && !pattern.literal_text()->empty()) {
    return replace_text(*pattern.literal_text(), content, text, front_bytes);
  }
  std::vector<Span> spans;
  INGOT_TRY(pattern.find_all(text, spans));
  if (std::ranges::none_of(spans, &Span::is_match)) return Status::ok();
  Replacing replacing(text, content, front_bytes);
  for (const Span& span : spans) {
    if (span.is_match) {
      INGOT_TRY(replacing.replace(span.end));
    } else {
      replacing.keep(span.begin, span.end);
    }
  }
  replacing.finish(text, front_bytes);
  return Status::ok();
}

Status replace_all(const SplitPattern& pattern, std::string_view content, std::string& text) {
  size_t front_bytes = 0;
  return replace_all(pattern, content, text, front_bytes);
}

}  // namespace ingot::tok
