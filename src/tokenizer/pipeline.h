// SPDX-License-Identifier: Apache-2.0
// The one tokenizer behind all file formats: added tokens, normalizers, pre-tokenizers, a model,
// templates and, for the way back, decoders. The readers of tokenizer.json, tokenizer.model and
// GGUF fill the parts.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/added_tokens.h"
#include "tokenizer/decoders.h"
#include "tokenizer/models/token_model.h"
#include "tokenizer/normalizers.h"
#include "tokenizer/post_processor.h"
#include "tokenizer/pre_tokenizers.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/vocabulary.h"

namespace ingot::tok {

// The vocabulary is the model's own; it has an address of its own, because the model points to it.
struct PipelineParts {
  std::shared_ptr<Vocabulary> vocabulary = std::make_shared<Vocabulary>();
  AddedTokens added;
  std::vector<NormalizerPtr> normalizers;
  std::vector<PreTokenizerPtr> pre_tokenizers;
  TokenModelPtr model;
  std::vector<Template> templates;
  std::vector<DecoderPtr> decoders;
  Tokenizer::SpecialTokens special;
};

// Immutable; thread-safe.
class Pipeline : public Tokenizer {
 public:
  explicit Pipeline(PipelineParts parts) : parts_(std::move(parts)) {}

  Result<std::vector<TokenId>> encode(std::string_view text,
                                      const EncodeOptions& options) const override;
  Result<Encoding> encode_with_pieces(std::string_view text,
                                      const EncodeOptions& options) const override;
  Result<PairEncoding> encode_pair(std::string_view first, std::string_view second,
                                   const EncodeOptions& options) const override;
  std::string decode(std::span<const TokenId> ids, bool skip_special) const override;
  std::unique_ptr<DecodeStream> decode_stream(bool skip_special) const override;
  std::string_view piece(TokenId id) const override;
  std::optional<TokenId> id_of(std::string_view piece) const override;
  bool is_special(TokenId id) const override { return parts_.added.is_special(id); }
  size_t vocab_size() const override {
    return std::max(parts_.vocabulary->size(), parts_.added.end_id());
  }
  const SpecialTokens& special() const override { return parts_.special; }

 private:
  class Stream;
  Status encode_into(std::string_view text, const EncodeOptions& options, TokenSink& out) const;
  // Without what the templates add.
  Status encode_text(std::string_view text, const EncodeOptions& options, TokenSink& out) const;
  Status encode_raw(std::string_view text, bool is_at_start, bool parse_special,
                    TokenSink& out) const;
  Status encode_normalized(std::string text, size_t start_bytes, TokenSink& out) const;

  PipelineParts parts_;
};

}  // namespace ingot::tok
