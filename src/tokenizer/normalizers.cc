// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/normalizers.h"

#include <utf8proc.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "base/utf8.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/unicode.h"

namespace ingot::tok {

void append_lowercase(std::string& out, char32_t code_point) {
  if (code_point < 0x80) {
    const auto c = static_cast<char>(code_point);
    out.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
  } else if (code_point == 0x130) {
    out += "i\u0307";  // the only character whose small form is two
  } else {
    utf8::append(
        out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code_point))));
  }
}

NormalizedText::NormalizedText(std::string whole, bool is_at_start)
    : text(std::move(whole)), start_bytes(is_at_start ? char_at(text, 0).size : 0) {}

namespace {

// Rewrites character by character: `edit(out, c)` appends what becomes of c.
template <class Edit>
void edit_chars(NormalizedText& value, const Edit& edit) {
  std::string out;
  out.reserve(value.text.size());
  size_t start_bytes = 0;
  for (size_t at = 0; at < value.text.size();) {
    const utf8::Decoded c = utf8::decode(std::string_view(value.text).substr(at));
    edit(out, c.code_point);
    if (at < value.start_bytes) start_bytes = out.size();
    at += c.size;
  }
  value.text = std::move(out);
  value.start_bytes = start_bytes;
}

class Lowercase : public Normalizer {
 public:
  Status apply(NormalizedText& value) const override {
    edit_chars(value, append_lowercase);
    return Status::ok();
  }
};

class Strip : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}
  Status apply(NormalizedText& value) const override {
    const std::string_view text = value.text;
    size_t begin = 0;
    size_t end = text.size();
    while (left_ && begin < end && is_space(char_at(text, begin).code_point)) {
      begin += char_at(text, begin).size;
    }
    while (right_ && begin < end && is_space(char_before(text, end).code_point)) {
      end -= char_before(text, end).size;
    }
    value.start_bytes -= std::min(begin, value.start_bytes);
    value.text = std::string(text.substr(begin, end - begin));
    return Status::ok();
  }

 private:
  bool left_;
  bool right_;
};

class StripAccents : public Normalizer {
 public:
  Status apply(NormalizedText& value) const override {
    edit_chars(value, [](std::string& out, char32_t c) {
      if ((classify(c) & kMark) == 0) utf8::append(out, c);
    });
    return Status::ok();
  }
};

class Replace : public Normalizer {
 public:
  Replace(SplitPattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  Status apply(NormalizedText& value) const override {
    return replace_all(pattern_, content_, value.text, value.start_bytes);
  }

 private:
  SplitPattern pattern_;
  std::string content_;
};

class Prepend : public Normalizer {
 public:
  explicit Prepend(std::string prefix) : prefix_(std::move(prefix)) {}
  Status apply(NormalizedText& value) const override {
    if (value.text.empty()) return Status::ok();
    value.text.insert(0, prefix_);
    if (value.is_at_start()) value.start_bytes += prefix_.size();
    return Status::ok();
  }

 private:
  std::string prefix_;
};

// The clean-up of neural machine translation: control characters go, odd spaces become spaces.
class Nmt : public Normalizer {
 public:
  Status apply(NormalizedText& value) const override {
    edit_chars(value, [](std::string& out, char32_t c) {
      const bool is_dropped = (c >= 0x1 && c <= 0x8) || c == 0xB || (c >= 0xE && c <= 0x1F) ||
                              c == 0x7F || c == 0x8F || c == 0x9F;
      if (is_dropped) return;
      const bool is_spaced = c == 0x9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 ||
                             (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 ||
                             c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
      utf8::append(out, is_spaced ? U' ' : c);
    });
    return Status::ok();
  }
};

class ByteLevelNormalizer : public Normalizer {
 public:
  Status apply(NormalizedText& value) const override {
    std::string out;
    append_byte_level(out, std::string_view(value.text).substr(0, value.start_bytes));
    const size_t start_bytes = out.size();
    append_byte_level(out, std::string_view(value.text).substr(value.start_bytes));
    value.text = std::move(out);
    value.start_bytes = start_bytes;
    return Status::ok();
  }
};

// SentencePiece's table as the `tokenizers` package applies it: to short grapheme clusters whole,
// else to single characters. A quirk, but the reference's quirk.
class Precompiled : public Normalizer {
 public:
  explicit Precompiled(Charsmap map) : map_(std::move(map)) {}

  Status apply(NormalizedText& value) const override {
    const std::string_view text = value.text;
    std::string out;
    out.reserve(text.size());
    size_t start_bytes = 0;
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = cluster_end(text, begin);
      const size_t out_begin = out.size();
      append_cluster(out, text.substr(begin, end - begin));
      INGOT_TRY(check_growth(out));
      if (end <= value.start_bytes) {
        start_bytes = out.size();
      } else if (begin < value.start_bytes) {
        // Old and new characters go together one by one.
        const size_t chars = utf8::count(text.substr(begin, value.start_bytes - begin));
        start_bytes = out_begin;
        for (size_t i = 0; i < chars && start_bytes < out.size(); ++i)
          start_bytes += char_at(out, start_bytes).size;
      }
      begin = end;
    }
    value.start_bytes = start_bytes;
    value.text = utf8::is_valid(out) ? std::move(out) : utf8::replace_invalid(out);
    return Status::ok();
  }

 private:
  static size_t cluster_end(std::string_view text, size_t begin) {
    utf8proc_int32_t state = 0;
    Char previous = char_at(text, begin);
    size_t end = begin + previous.size;
    while (end < text.size()) {
      const Char next = char_at(text, end);
      if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(previous.code_point),
                                           static_cast<utf8proc_int32_t>(next.code_point),
                                           &state)) {
        break;
      }
      end += next.size;
      previous = next;
    }
    return end;
  }

  void append_cluster(std::string& out, std::string_view cluster) const {
    if (cluster.size() < 6) {
      if (const auto whole = map_.shortest_prefix(cluster)) {
        out += *whole;
        return;
      }
    }
    for (size_t at = 0; at < cluster.size();) {
      const std::string_view part = cluster.substr(at, char_at(cluster, at).size);
      out += map_.shortest_prefix(part).value_or(part);
      at += part.size();
    }
  }

  Charsmap map_;
};

bool is_chinese(char32_t c) {
  // The gap below U+2B920 is the reference's.
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
         (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

class BertNormalizer : public Normalizer {
 public:
  explicit BertNormalizer(const BertNormalizerOptions& options) : options_(options) {}

  Status apply(NormalizedText& value) const override {
    if (options_.clean_text) edit_chars(value, clean);
    if (options_.handle_chinese_chars) {
      edit_chars(value, [](std::string& out, char32_t c) {
        if (is_chinese(c)) out += ' ';
        utf8::append(out, c);
        if (is_chinese(c)) out += ' ';
      });
    }
    if (options_.strip_accents) {
      apply_unicode_form(value, UnicodeForm::kNfd);
      edit_chars(value, [](std::string& out, char32_t c) {
        if (!is_nonspacing_mark(c)) utf8::append(out, c);
      });
    }
    if (options_.lowercase) edit_chars(value, append_lowercase);
    return Status::ok();
  }

 private:
  static void clean(std::string& out, char32_t c) {
    const bool is_plain_space = c == '\t' || c == '\n' || c == '\r';
    if (c == 0 || c == utf8::kReplacement || (!is_plain_space && is_other(c))) return;
    utf8::append(out, is_space(c) ? U' ' : c);
  }

  BertNormalizerOptions options_;
};

}  // namespace

NormalizerPtr make_lowercase() {
  return std::make_unique<Lowercase>();
}
NormalizerPtr make_strip(bool left, bool right) {
  return std::make_unique<Strip>(left, right);
}
NormalizerPtr make_strip_accents() {
  return std::make_unique<StripAccents>();
}
NormalizerPtr make_replace(SplitPattern pattern, std::string content) {
  return std::make_unique<Replace>(std::move(pattern), std::move(content));
}
NormalizerPtr make_prepend(std::string prefix) {
  return std::make_unique<Prepend>(std::move(prefix));
}
NormalizerPtr make_nmt() {
  return std::make_unique<Nmt>();
}
NormalizerPtr make_byte_level_normalizer() {
  return std::make_unique<ByteLevelNormalizer>();
}
NormalizerPtr make_precompiled(Charsmap map) {
  return std::make_unique<Precompiled>(std::move(map));
}
NormalizerPtr make_bert_normalizer(const BertNormalizerOptions& options) {
  return std::make_unique<BertNormalizer>(options);
}

}  // namespace ingot::tok
