// SPDX-License-Identifier: Apache-2.0
// The Unicode normalization forms. utf8proc knows the tables; the canonical ordering is done here,
// because utf8proc sorts a run of combining marks by swapping neighbours, which is quadratic.
#include <utf8proc.h>

#include <algorithm>
#include <vector>

#include "base/utf8.h"
#include "tokenizer/normalizers.h"

namespace ingot::tok {

namespace {

int combining_class(utf8proc_int32_t code_point) {
  return utf8proc_get_property(code_point)->combining_class;
}

void order_marks(std::vector<utf8proc_int32_t>& text) {
  for (size_t begin = 0; begin < text.size();) {
    if (combining_class(text[begin]) == 0) {
      ++begin;
      continue;
    }
    size_t end = begin + 1;
    while (end < text.size() && combining_class(text[end]) != 0)
      ++end;
    std::stable_sort(text.begin() + static_cast<std::ptrdiff_t>(begin),
                     text.begin() + static_cast<std::ptrdiff_t>(end),
                     [](auto a, auto b) { return combining_class(a) < combining_class(b); });
    begin = end;
  }
}

bool is_unchanged(std::string_view text, UnicodeForm form) {
  // Below U+00A0 nothing changes; below U+0300 everything is composed already.
  const uint8_t first_at_risk = form == UnicodeForm::kNfc ? 0xCC : 0xC2;
  return std::none_of(text.begin(), text.end(),
                      [&](char c) { return static_cast<uint8_t>(c) >= first_at_risk; });
}

class UnicodeNormalizer : public Normalizer {
 public:
  explicit UnicodeNormalizer(UnicodeForm form) : form_(form) {}
  Status apply(NormalizedText& value) const override {
    apply_unicode_form(value, form_);
    return Status::ok();
  }

 private:
  UnicodeForm form_;
};

}  // namespace

std::string to_unicode_form(std::string_view text, UnicodeForm form) {
  const bool is_compatible = form == UnicodeForm::kNfkc || form == UnicodeForm::kNfkd;
  const bool is_composed = form == UnicodeForm::kNfc || form == UnicodeForm::kNfkc;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE |
                                                      (is_compatible ? UTF8PROC_COMPAT : 0));
  std::vector<utf8proc_int32_t> code_points;
  code_points.reserve(text.size() + 32);
  utf8proc_int32_t parts[32];  // no character has more than 18 parts
  int last_boundary = 0;
  for (size_t at = 0; at < text.size();) {
    const utf8::Decoded decoded = utf8::decode(text.substr(at));
    at += decoded.size;
    const utf8proc_ssize_t count = utf8proc_decompose_char(
        static_cast<utf8proc_int32_t>(decoded.code_point), parts, 32, options, &last_boundary);
    if (count < 0 || count > 32) {
      code_points.push_back(static_cast<utf8proc_int32_t>(decoded.code_point));
    } else {
      code_points.insert(code_points.end(), parts, parts + count);
    }
  }
  order_marks(code_points);
  if (is_composed) {
    const auto composed = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    const utf8proc_ssize_t count = utf8proc_normalize_utf32(
        code_points.data(), static_cast<utf8proc_ssize_t>(code_points.size()), composed);
    if (count >= 0) code_points.resize(static_cast<size_t>(count));
  }
  std::string out;
  out.reserve(text.size());
  for (const utf8proc_int32_t code_point : code_points) {
    utf8::append(out, static_cast<char32_t>(code_point));
  }
  return out;
}

void apply_unicode_form(NormalizedText& value, UnicodeForm form) {
  if (is_unchanged(value.text, form)) return;
  // The front may be composed with what follows it, but its characters stay as many.
  const auto front = std::string_view(value.text).substr(0, value.start_bytes);
  const size_t front_chars = utf8::count(to_unicode_form(front, form));
  value.text = to_unicode_form(value.text, form);
  value.start_bytes = 0;
  for (size_t i = 0; i < front_chars && value.start_bytes < value.text.size(); ++i)
    value.start_bytes += utf8::decode(std::string_view(value.text).substr(value.start_bytes)).size;
}

NormalizerPtr make_unicode_normalizer(UnicodeForm form) {
  return std::make_unique<UnicodeNormalizer>(form);
}

}  // namespace ingot::tok
