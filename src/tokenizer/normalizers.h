// SPDX-License-Identifier: Apache-2.0
// Steps that rewrite a text before it is split: Unicode forms, case, accents, replacements. The
// second step of encoding, after the added tokens have been taken out.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "tokenizer/charsmap.h"
#include "tokenizer/split_pattern.h"

namespace ingot::tok {

// A text under way. Its first `start_bytes` bytes stem from the first character of the input: what
// asks "is this where the input begins?" means them. Steps that change the text keep count.
struct NormalizedText {
  std::string text;
  size_t start_bytes;

  explicit NormalizedText(std::string whole, bool is_at_start = true);
  bool is_at_start() const { return start_bytes > 0; }
};

// Immutable; thread-safe.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual Status apply(NormalizedText& value) const = 0;
};

using NormalizerPtr = std::unique_ptr<const Normalizer>;

enum class UnicodeForm { kNfc, kNfd, kNfkc, kNfkd };
NormalizerPtr make_unicode_normalizer(UnicodeForm form);
NormalizerPtr make_lowercase();
NormalizerPtr make_strip(bool left, bool right);
NormalizerPtr make_strip_accents();
NormalizerPtr make_replace(SplitPattern pattern, std::string content);
NormalizerPtr make_prepend(std::string prefix);
NormalizerPtr make_nmt();
NormalizerPtr make_byte_level_normalizer();
NormalizerPtr make_precompiled(Charsmap map);

struct BertNormalizerOptions {
  bool clean_text = true;
  bool handle_chinese_chars = true;
  bool strip_accents = true;
  bool lowercase = true;
};
NormalizerPtr make_bert_normalizer(const BertNormalizerOptions& options);

// Helpers that several steps share.
std::string to_unicode_form(std::string_view text, UnicodeForm form);
void apply_unicode_form(NormalizedText& value, UnicodeForm form);
void append_lowercase(std::string& out, char32_t code_point);

}  // namespace ingot::tok
