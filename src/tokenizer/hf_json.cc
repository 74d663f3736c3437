// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/hf_json.h"

#include <optional>
#include <string>
#include <utility>

#include "base/json_reader.h"
#include "base/limits.h"
#include "tokenizer/hf_components.h"
#include "tokenizer/hf_fields.h"
#include "tokenizer/hf_model.h"

namespace ingot::tok {

namespace {

class TokenizerJsonReader {
 public:
  TokenizerJsonReader(std::string_view text, std::string_view source)
      : text_(text), source_(source), reader_(text, std::string(source)) {}

  Result<PipelineParts> run() {
    INGOT_TRY(reader_.expect(JsonToken::kBeginObject, "tokenizer.json"));
    while (true) {
      INGOT_TRY(const bool has_more, reader_.next_key());
      if (!has_more) break;
      INGOT_TRY(field(std::string(reader_.text())));
    }
    INGOT_TRY(reader_.expect(JsonToken::kEnd, "tokenizer.json"));
    return build();
  }

 private:
  Status field(const std::string& key) {
    if (key == "model") {
      if (model_) return reader_.error("two fields 'model'");
      INGOT_TRY(model_, read_hf_model(reader_, text_, source_));
      return Status::ok();
    }
    if (key == "added_tokens") return added_tokens();
    if (key == "normalizer") return small(key, normalizer_);
    if (key == "pre_tokenizer") return small(key, pre_tokenizer_);
    if (key == "post_processor") return small(key, post_processor_);
    if (key == "decoder") return small(key, decoder_);
    return reader_.skip_value();
  }

  // Parts of configuration size become a tree.
  Status small(const std::string& key, Json& out) {
    const size_t begin = reader_.offset();
    INGOT_TRY(reader_.skip_value());
    INGOT_TRY(out, parse_json(text_.substr(begin, reader_.offset() - begin),
                              fmt::format("{}, '{}'", source_, key)));
    return Status::ok();
  }

  Status added_tokens() {
    INGOT_TRY(const JsonToken first, reader_.next());
    if (first == JsonToken::kNull) return Status::ok();
    if (first != JsonToken::kBeginArray) return reader_.error("'added_tokens' must be a list");
    while (true) {
      INGOT_TRY(const JsonToken token, reader_.next());
      if (token == JsonToken::kEndArray) return Status::ok();
      if (token != JsonToken::kBeginObject)
        return reader_.error("an added token has the wrong type");
      if (added_.size() >= limits::kAddedTokens) return reader_.error("too many added tokens");
      INGOT_TRY(AddedToken added, added_token());
      added_.push_back(std::move(added));
    }
  }

  Result<AddedToken> added_token() {
    AddedToken token;
    bool has_normalized = false;
    while (true) {
      INGOT_TRY(const bool has_more, reader_.next_key());
      if (!has_more) break;
      const std::string key(reader_.text());
      bool* const flag = flag_of(token, key);
      if (flag != nullptr) {
        INGOT_TRY(*flag, reader_.bool_value(key));
        has_normalized = has_normalized || key == "normalized";
      } else if (key == "content") {
        INGOT_TRY(token.content, reader_.string_value(key));
      } else {
        INGOT_TRY(reader_.skip_value());
      }
    }
    if (!has_normalized) token.normalized = !token.special;
    return token;
  }

  static bool* flag_of(AddedToken& token, std::string_view key) {
    if (key == "single_word") return &token.single_word;
    if (key == "lstrip") return &token.lstrip;
    if (key == "rstrip") return &token.rstrip;
    if (key == "normalized") return &token.normalized;
    if (key == "special") return &token.special;
    return nullptr;
  }

  Result<PipelineParts> build() {
    if (!model_) return Status::invalid_data("{}: it has no 'model'", source_);
    PipelineParts parts;
    parts.vocabulary = model_->vocabulary;
    parts.model = std::move(model_->model);
    parts.special.unk = model_->unk;
    INGOT_TRY(parts.normalizers, read_normalizers(normalizer_, source_));
    INGOT_TRY(parts.pre_tokenizers, read_pre_tokenizers(pre_tokenizer_, source_));
    INGOT_TRY(parts.decoders, read_decoders(decoder_, source_));
    INGOT_TRY(parts.added.add(std::move(added_), parts.normalizers, model_->first_new_id,
                              *parts.vocabulary, source_));
    const size_t vocab_size = std::max(parts.vocabulary->size(), parts.added.end_id());
    INGOT_TRY(parts.templates, read_templates(post_processor_, vocab_size, source_));
    return parts;
  }

  std::string_view text_;
  std::string_view source_;
  JsonReader reader_;
  std::optional<HfModel> model_;
  std::vector<AddedToken> added_;
  Json normalizer_;
  Json pre_tokenizer_;
  Json post_processor_;
  Json decoder_;
};

}  // namespace

Result<PipelineParts> read_tokenizer_json(std::string_view text, std::string_view source) {
  return TokenizerJsonReader(text, source).run();
}

}  // namespace ingot::tok
