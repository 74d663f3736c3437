// SPDX-License-Identifier: Apache-2.0
// Tokenizers of the SentencePiece kind, built from a vocabulary with types and scores: what
// tokenizer.model holds, and what GGUF files with "llama" and "t5" vocabularies hold.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tokenizer/byte_trie.h"
#include "tokenizer/charsmap.h"
#include "tokenizer/normalizers.h"
#include "tokenizer/pipeline.h"
#include "tokenizer/sentencepiece_proto.h"

namespace ingot::tok {

struct SentencePieceVocabulary {
  std::vector<SentencePieceEntry> pieces;  // by id
  bool is_bpe = true;
  bool byte_fallback = false;
  // Whether byte, control and unknown pieces may come out of merges, as in GGUF files.
  bool merges_any_type = false;
};

struct SentencePieceNormalization {
  std::optional<Charsmap> charsmap;
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
  bool treat_whitespace_as_suffix = false;
};

// Fills vocabulary, model, normalizer, decoder, and control pieces as special tokens.
Result<PipelineParts> build_sentencepiece(const SentencePieceVocabulary& vocabulary,
                                          SentencePieceNormalization normalization,
                                          std::string_view source);
// A whole tokenizer.model.
Result<PipelineParts> read_sentencepiece_model(std::span<const std::byte> bytes,
                                               std::string_view source);

NormalizerPtr make_sentencepiece_normalizer(SentencePieceNormalization options,
                                            ByteTrie user_defined);

}  // namespace ingot::tok
