// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/hf_components.h"

#include <limits>
#include <string>

#include "base/limits.h"
#include "base/utf8.h"
#include "tokenizer/hf_fields.h"
#include "tokenizer/unicode.h"

namespace ingot::tok {

namespace {

// {"String": ...} or {"Regex": ...}
Result<SplitPattern> read_pattern(const Json& json, std::string_view source) {
  const Json* pattern = find_field(json, "pattern");
  if (pattern == nullptr) return Status::invalid_data("{}: 'pattern' is missing", source);
  if (pattern->is_string()) return SplitPattern::literal(pattern->get_ref<const std::string&>());
  if (find_field(*pattern, "String") != nullptr) {
    INGOT_TRY(std::string text, string_field(*pattern, "String", source));
    return SplitPattern::literal(std::move(text));
  }
  INGOT_TRY(const std::string text, string_field(*pattern, "Regex", source));
  return SplitPattern::regex(text, source);
}

Result<SplitBehavior> read_behavior(const Json& json, std::string_view source) {
  const std::string name = string_field_or(json, "behavior", "Isolated");
  if (name == "Removed") return SplitBehavior::kRemoved;
  if (name == "Isolated") return SplitBehavior::kIsolated;
  if (name == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  if (name == "Contiguous") return SplitBehavior::kContiguous;
  return Status::invalid_data("{}: a split behavior '{}' is not known", source, name);
}

// Fields that hold exactly one character.
Result<std::string> char_field(const Json& json, const char* key, std::string_view source) {
  INGOT_TRY(std::string text, string_field(json, key, source));
  if (text.empty() || utf8::decode(text).size != text.size()) {
    return Status::invalid_data("{}: '{}' must be one character", source, key);
  }
  return text;
}

Result<PrependScheme> read_prepend_scheme(const Json& json, std::string_view source) {
  const std::string name = string_field_or(json, "prepend_scheme", "");
  const bool adds_space = bool_field_or(json, "add_prefix_space", true);
  if (name.empty()) return adds_space ? PrependScheme::kAlways : PrependScheme::kNever;
  if (name == "always") return PrependScheme::kAlways;
  if (name == "first") return PrependScheme::kFirst;
  if (name == "never") return PrependScheme::kNever;
  return Status::invalid_data("{}: prepend_scheme '{}' is not known", source, name);
}

Result<NormalizerPtr> read_precompiled(const Json& json, std::string_view source) {
  if (find_field(json, "precompiled_charsmap") == nullptr) return NormalizerPtr();
  INGOT_TRY(const std::string encoded, string_field(json, "precompiled_charsmap", source));
  if (encoded.empty()) return NormalizerPtr();
  const std::optional<std::string> blob = decode_base64(encoded);
  if (!blob) return Status::invalid_data("{}: precompiled_charsmap is not base64", source);
  INGOT_TRY(Charsmap map, Charsmap::parse(*blob, source));
  return make_precompiled(std::move(map));
}

// Null where the step does nothing.
Result<NormalizerPtr> read_normalizer(const Json& json, std::string_view source) {
  const std::string type = type_of(json);
  if (type == "NFC") return make_unicode_normalizer(UnicodeForm::kNfc);
  if (type == "NFD") return make_unicode_normalizer(UnicodeForm::kNfd);
  if (type == "NFKC") return make_unicode_normalizer(UnicodeForm::kNfkc);
  if (type == "NFKD") return make_unicode_normalizer(UnicodeForm::kNfkd);
  if (type == "Lowercase") return make_lowercase();
  if (type == "StripAccents") return make_strip_accents();
  if (type == "Nmt") return make_nmt();
  if (type == "ByteLevel") return make_byte_level_normalizer();
  if (type == "Strip") {
    return make_strip(bool_field_or(json, "strip_left", true),
                      bool_field_or(json, "strip_right", true));
  }
  if (type == "Prepend") {
    INGOT_TRY(std::string prefix, string_field(json, "prepend", source));
    return make_prepend(std::move(prefix));
  }
  if (type == "Replace") {
    INGOT_TRY(SplitPattern pattern, read_pattern(json, source));
    INGOT_TRY(std::string content, string_field(json, "content", source));
    return make_replace(std::move(pattern), std::move(content));
  }
  if (type == "Precompiled") return read_precompiled(json, source);
  if (type == "BertNormalizer" || type == "Bert") {
    BertNormalizerOptions options;
    options.clean_text = bool_field_or(json, "clean_text", true);
    options.handle_chinese_chars = bool_field_or(json, "handle_chinese_chars", true);
    options.lowercase = bool_field_or(json, "lowercase", true);
    options.strip_accents = bool_field_or(json, "strip_accents", options.lowercase);
    return make_bert_normalizer(options);
  }
  return unknown_step(json, "normalizer", source);
}

Status add_pre_tokenizer(const Json& json, std::string_view source,
                         std::vector<PreTokenizerPtr>& out) {
  const std::string type = type_of(json);
  if (type == "ByteLevel") {
    out.push_back(make_byte_level(bool_field_or(json, "add_prefix_space", true),
                                  bool_field_or(json, "use_regex", true)));
  } else if (type == "Split") {
    INGOT_TRY(SplitPattern pattern, read_pattern(json, source));
    INGOT_TRY(const SplitBehavior behavior, read_behavior(json, source));
    out.push_back(make_split(std::move(pattern), behavior, bool_field_or(json, "invert", false)));
  } else if (type == "Metaspace") {
    INGOT_TRY(std::string replacement, char_field(json, "replacement", source));
    INGOT_TRY(const PrependScheme scheme, read_prepend_scheme(json, source));
    out.push_back(
        make_metaspace(std::move(replacement), scheme, bool_field_or(json, "split", true)));
  } else if (type == "Whitespace") {
    out.push_back(make_whitespace());
  } else if (type == "WhitespaceSplit") {
    out.push_back(make_char_split(is_space, SplitBehavior::kRemoved));
  } else if (type == "Digits") {
    const bool is_individual = bool_field_or(json, "individual_digits", false);
    out.push_back(make_char_split(
        is_numeric, is_individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous));
  } else if (type == "Punctuation") {
    INGOT_TRY(const SplitBehavior behavior, read_behavior(json, source));
    out.push_back(make_char_split(is_bert_punctuation, behavior));
  } else if (type == "BertPreTokenizer") {
    out.push_back(make_char_split(is_space, SplitBehavior::kRemoved));
    out.push_back(make_char_split(is_bert_punctuation, SplitBehavior::kIsolated));
  } else if (type == "CharDelimiterSplit" || type == "Delimiter") {
    INGOT_TRY(std::string delimiter, char_field(json, "delimiter", source));
    out.push_back(
        make_split(SplitPattern::literal(std::move(delimiter)), SplitBehavior::kRemoved, false));
  } else if (type == "UnicodeScripts") {
    INGOT_TRY(PreTokenizerPtr scripts, make_unicode_scripts(source));
    out.push_back(std::move(scripts));
  } else if (type == "FixedLength") {
    int64_t length = 5;
    if (find_field(json, "length") != nullptr) {
      INGOT_TRY(length, integer_field(json, "length", std::numeric_limits<int32_t>::max(), source));
    }
    if (length == 0) return Status::invalid_data("{}: FixedLength needs a length above 0", source);
    out.push_back(make_fixed_length(static_cast<size_t>(length)));
  } else {
    return unknown_step(json, "pre_tokenizer", source);
  }
  return Status::ok();
}

Result<DecoderPtr> read_decoder(const Json& json, std::string_view source) {
  const std::string type = type_of(json);
  if (type == "ByteLevel") return make_byte_level_decoder();
  if (type == "ByteFallback") return make_byte_fallback_decoder();
  if (type == "Fuse") return make_fuse_decoder();
  if (type == "Metaspace") {
    INGOT_TRY(std::string replacement, char_field(json, "replacement", source));
    INGOT_TRY(const PrependScheme scheme, read_prepend_scheme(json, source));
    return make_metaspace_decoder(std::move(replacement), scheme != PrependScheme::kNever);
  }
  if (type == "WordPiece") {
    return make_wordpiece_decoder(string_field_or(json, "prefix", "##"),
                                  bool_field_or(json, "cleanup", true));
  }
  if (type == "BPEDecoder") return make_bpe_decoder(string_field_or(json, "suffix", "</w>"));
  if (type == "CTC") {
    return make_ctc_decoder(string_field_or(json, "pad_token", "<pad>"),
                            string_field_or(json, "word_delimiter_token", "|"),
                            bool_field_or(json, "cleanup", true));
  }
  if (type == "Strip") {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    INGOT_TRY(std::string content, char_field(json, "content", source));
    INGOT_TRY(const int64_t start, integer_field(json, "start", kMost, source));
    INGOT_TRY(const int64_t stop, integer_field(json, "stop", kMost, source));
    return make_strip_decoder(std::move(content), static_cast<size_t>(start),
                              static_cast<size_t>(stop));
  }
  if (type == "Replace") {
    INGOT_TRY(SplitPattern pattern, read_pattern(json, source));
    INGOT_TRY(std::string content, string_field(json, "content", source));
    return make_replace_decoder(std::move(pattern), std::move(content));
  }
  return unknown_step(json, "decoder", source);
}

}  // namespace

Result<std::vector<NormalizerPtr>> read_normalizers(const Json& json, std::string_view source) {
  INGOT_TRY(const std::vector<const Json*> steps,
            flatten_steps(json, "normalizers", "normalizer", source));
  std::vector<NormalizerPtr> out;
  for (const Json* step : steps) {
    INGOT_TRY(NormalizerPtr normalizer, read_normalizer(*step, source));
    if (normalizer != nullptr) out.push_back(std::move(normalizer));
  }
  return out;
}

Result<std::vector<PreTokenizerPtr>> read_pre_tokenizers(const Json& json,
                                                         std::string_view source) {
  INGOT_TRY(const std::vector<const Json*> steps,
            flatten_steps(json, "pretokenizers", "pre_tokenizer", source));
  std::vector<PreTokenizerPtr> out;
  for (const Json* step : steps)
    INGOT_TRY(add_pre_tokenizer(*step, source, out));
  return out;
}

Result<std::vector<DecoderPtr>> read_decoders(const Json& json, std::string_view source) {
  INGOT_TRY(const std::vector<const Json*> steps,
            flatten_steps(json, "decoders", "decoder", source));
  std::vector<DecoderPtr> out;
  for (const Json* step : steps) {
    INGOT_TRY(DecoderPtr decoder, read_decoder(*step, source));
    out.push_back(std::move(decoder));
  }
  if (json.is_null()) out.push_back(make_join_decoder());
  return out;
}

}  // namespace ingot::tok
