// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/gguf_vocab.h"

#include <algorithm>
#include <string>
#include <utility>

#include "tokenizer/byte_alphabet.h"
#include "tokenizer/gguf_pieces.h"
#include "tokenizer/gguf_pre.h"
#include "tokenizer/hf_json.h"
#include "tokenizer/models/bpe.h"
#include "tokenizer/models/least_cost.h"
#include "tokenizer/models/longest_match.h"
#include "tokenizer/models/wordpiece.h"
#include "tokenizer/sentencepiece.h"
#include "tokenizer/special_tokens.h"
#include "tokenizer/unicode.h"

namespace ingot::tok {

namespace {

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

class GgufVocabularyReader {
 public:
  explicit GgufVocabularyReader(const GgufMetadata& metadata) : metadata_(metadata) {}

  Result<PipelineParts> run() {
    if (metadata_.has("tokenizer.huggingface.json")) {
      INGOT_TRY(const std::string_view json, metadata_.string("tokenizer.huggingface.json"));
      INGOT_TRY(PipelineParts parts, read_tokenizer_json(json, "tokenizer.huggingface.json"));
      INGOT_TRY(read_special_ids(vocab_size_of(parts), parts));
      return parts;
    }
    INGOT_TRY(model_, metadata_.string("tokenizer.ggml.model"));
    if (model_ == "none" || model_ == "no_vocab") {
      return Status::not_found("the GGUF file says that it has no tokenizer");
    }
    INGOT_TRY(file_pieces_, read_gguf_pieces(metadata_));
    if (model_ == "llama") return sentencepiece(/*is_bpe=*/true);
    if (model_ == "t5") return sentencepiece(/*is_bpe=*/false);
    if (model_ == "gpt2" || model_ == "gemma4" || model_ == "whitespace") return bpe();
    if (model_ == "bert") return wordpiece();
    if (model_ == "rwkv") return rwkv();
    if (model_ == "plamo2") return plamo2();
    return Status::unsupported("tokenizer.ggml.model '{}' is not supported", model_);
  }

 private:
  Result<bool> flag(std::string_view key, bool fallback) const {
    if (!metadata_.has(key)) return fallback;
    return metadata_.boolean(key);
  }

  // The id under `key`; -1 (of either width) stands for "none".
  Result<std::optional<TokenId>> special_id(std::string_view key, std::optional<TokenId> fallback,
                                            size_t vocab_size) const {
    if (!metadata_.has(key)) {
      const bool fits = fallback && static_cast<size_t>(*fallback) < vocab_size;
      return fits ? fallback : std::nullopt;
    }
    INGOT_TRY(const int64_t id, metadata_.integer(key));
    if (id == -1 || id == 0xFFFFFFFF) return std::optional<TokenId>();
    if (id < 0 || static_cast<uint64_t>(id) >= vocab_size) {
      return Status::invalid_data("{} is {}, but the vocabulary has {} tokens", key, id,
                                  vocab_size);
    }
    return std::optional(static_cast<TokenId>(id));
  }

  Status read_special_ids(size_t vocab_size, PipelineParts& parts) const {
    const bool is_llama = model_ == "llama" || model_ == "plamo2";  // 0 to 2: unk, bos, eos
    Tokenizer::SpecialTokens& special = parts.special;
    const auto some = [](bool is_wanted, TokenId id) {
      return is_wanted ? std::optional(id) : std::nullopt;
    };
    INGOT_TRY(special.bos,
              special_id("tokenizer.ggml.bos_token_id", some(is_llama, 1), vocab_size));
    INGOT_TRY(special.pad, special_id("tokenizer.ggml.padding_token_id", std::nullopt, vocab_size));
    INGOT_TRY(special.unk, special_id("tokenizer.ggml.unknown_token_id",
                                      special.unk ? special.unk : some(is_llama, 0), vocab_size));
    INGOT_TRY(const auto eos,
              special_id("tokenizer.ggml.eos_token_id",
                         is_llama ? some(true, 2) : some(model_ == "t5", 1), vocab_size));
    INGOT_TRY(const auto eot, special_id("tokenizer.ggml.eot_token_id", std::nullopt, vocab_size));
    INGOT_TRY(const auto eom, special_id("tokenizer.ggml.eom_token_id", std::nullopt, vocab_size));
    for (const auto& id : {eos, eot, eom}) {
      if (id) add_eos(special, *id);
    }
    // Harmony ends each message with <|end|> and an answer with <|return|> or <|call|>.
    const bool is_harmony = (find_token(parts, "<|return|>") && find_token(parts, "<|call|>")) ||
                            (find_token(parts, "<|flush|>") && find_token(parts, "<|calls|>"));
    for (const std::string_view text : gguf_end_texts()) {
      if (is_harmony && text == "<|end|>") continue;
      if (const std::optional<TokenId> id = find_token(parts, text)) add_eos(special, *id);
    }
    return Status::ok();
  }

  // Control, unknown and user-defined tokens are found in the text; only the last are never
  // "special".
  Status add_tokens(PipelineParts& parts) const {
    std::string name;
    std::string_view pre;
    if (metadata_.has("general.name")) {
      INGOT_TRY(const std::string_view text, metadata_.string("general.name"));
      for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        append_lowercase(name, byte < 0x80 ? char32_t{byte} : U'?');
      }
    }
    if (metadata_.has("tokenizer.ggml.pre")) {
      INGOT_TRY(pre, metadata_.string("tokenizer.ggml.pre"));
    }
    // GGUF has no place for these flags, so the models that need them are known by name.
    const bool is_phi3 = contains(name, "phi-3") || contains(name, "phi3");
    const bool strips_mask = pre.starts_with("jina-v2-") || contains(name, "modern-bert");
    std::vector<std::pair<TokenId, AddedToken>> tokens;
    for (size_t i = 0; i < pieces_.size(); ++i) {
      const SentencePieceEntry& piece = pieces_[i];
      if (piece.type != PieceType::kControl && piece.type != PieceType::kUnknown &&
          piece.type != PieceType::kUserDefined) {
        continue;
      }
      AddedToken token;
      token.content = piece.piece;
      token.normalized = false;
      token.special = piece.type != PieceType::kUserDefined;
      token.rstrip = is_phi3 && piece.piece != "<unk>" && piece.piece != "<s>" &&
                     piece.piece != "<|endoftext|>";
      token.lstrip = strips_mask && (piece.piece == "<mask>" || piece.piece == "[MASK]");
      tokens.emplace_back(static_cast<TokenId>(i), std::move(token));
    }
    return parts.added.add_with_ids(std::move(tokens), parts.normalizers, "tokenizer.ggml.tokens");
  }

  Status fill_vocabulary(PipelineParts& parts) const {
    for (size_t i = 0; i < pieces_.size(); ++i) {
      INGOT_TRY(parts.vocabulary->insert(pieces_[i].piece, static_cast<int64_t>(i),
                                         "tokenizer.ggml.tokens"));
    }
    return Status::ok();
  }

  Status finish(PipelineParts& parts, bool adds_bos, bool adds_eos) const {
    INGOT_TRY(add_tokens(parts));
    INGOT_TRY(read_special_ids(pieces_.size(), parts));
    INGOT_TRY(adds_bos, flag("tokenizer.ggml.add_bos_token", adds_bos));
    INGOT_TRY(adds_eos, flag("tokenizer.ggml.add_eos_token", adds_eos));
    const std::optional<TokenId> eos =
        parts.special.eos.empty() ? std::nullopt : std::optional(parts.special.eos.front());
    // Rerankers put a separator between their texts: <s> A </s> </s> B </s>.
    INGOT_TRY(const auto separator,
              special_id("tokenizer.ggml.seperator_token_id", std::nullopt, pieces_.size()));
    const std::optional<TokenId> bos = adds_bos ? parts.special.bos : std::nullopt;
    parts.templates.push_back(
        bos_eos_template(bos, adds_eos ? eos : std::nullopt, separator ? separator : bos));
    return Status::ok();
  }

  Result<PipelineParts> sentencepiece(bool is_bpe) {
    SentencePieceNormalization normalization;
    INGOT_TRY(normalization.add_dummy_prefix, flag("tokenizer.ggml.add_space_prefix", is_bpe));
    normalization.remove_extra_whitespaces = false;
    if (!is_bpe) {
      INGOT_TRY(normalization.remove_extra_whitespaces,
                flag("tokenizer.ggml.remove_extra_whitespaces", false));
      INGOT_TRY(normalization.charsmap, read_charsmap());
    }
    SentencePieceVocabulary vocabulary;
    vocabulary.pieces = pieces_;
    vocabulary.is_bpe = is_bpe;
    vocabulary.byte_fallback =
        is_bpe || std::any_of(pieces_.begin(), pieces_.end(),
                              [](const auto& piece) { return piece.type == PieceType::kByte; });
    vocabulary.merges_any_type = true;
    if (!is_bpe && std::none_of(pieces_.begin(), pieces_.end(), [](const auto& piece) {
          return piece.type == PieceType::kUnknown;
        })) {
      INGOT_TRY(const auto unk, special_id("tokenizer.ggml.unknown_token_id", 2, pieces_.size()));
      if (unk) vocabulary.pieces[static_cast<size_t>(*unk)].type = PieceType::kUnknown;
    }
    INGOT_TRY(PipelineParts parts,
              build_sentencepiece(vocabulary, std::move(normalization), "tokenizer.ggml.tokens"));
    INGOT_TRY(finish(parts, /*adds_bos=*/is_bpe, /*adds_eos=*/!is_bpe));
    return parts;
  }

  Result<std::optional<Charsmap>> read_charsmap() const {
    constexpr std::string_view kKey = "tokenizer.ggml.precompiled_charsmap";
    if (!metadata_.has(kKey)) return std::optional<Charsmap>();
    INGOT_TRY(const std::vector<int64_t> values, metadata_.integers(kKey));
    std::string blob;
    blob.reserve(values.size());
    for (const int64_t value : values)
      blob.push_back(static_cast<char>(value & 0xFF));
    INGOT_TRY(Charsmap map, Charsmap::parse(blob, kKey));
    return std::optional(std::move(map));
  }

  Result<PipelineParts> bpe() {
    std::string_view pre_name = model_ == "gemma4" || model_ == "whitespace" ? model_ : "";
    if (pre_name.empty() && metadata_.has("tokenizer.ggml.pre")) {
      INGOT_TRY(pre_name, metadata_.string("tokenizer.ggml.pre"));
    }
    const GgufPre* pre = find_gguf_pre(pre_name);
    if (pre == nullptr)
      return Status::unsupported("tokenizer.ggml.pre '{}' is not known", pre_name);
    PipelineParts parts;
    INGOT_TRY(fill_vocabulary(parts));
    for (const std::string_view pattern : pre->patterns) {
      INGOT_TRY(SplitPattern split, SplitPattern::regex(pattern, "tokenizer.ggml.pre"));
      parts.pre_tokenizers.push_back(make_split(std::move(split), SplitBehavior::kIsolated, false));
    }
    if (pre->is_byte_level) {
      parts.pre_tokenizers.push_back(make_byte_level(false, false));
      parts.decoders.push_back(make_byte_level_decoder());
    } else {
      const bool drops_spaces = pre->name == "whitespace";
      if (drops_spaces) {
        parts.pre_tokenizers.clear();
        parts.pre_tokenizers.push_back(make_char_split(is_space, SplitBehavior::kRemoved));
        INGOT_TRY(const bool lowercase, flag("tokenizer.ggml.normalizer.lowercase", false));
        if (lowercase) parts.normalizers.push_back(make_lowercase());
      } else {
        parts.normalizers.push_back(
            make_replace(SplitPattern::literal(" "), std::string(kSpaceMark)));
      }
      parts.decoders.push_back(make_sentencepiece_decoder({.strips_front = false}));
    }
    INGOT_TRY(MergeTable merges, read_merges(*parts.vocabulary));
    BpeOptions options;
    options.ignore_merges = pre->ignore_merges;
    options.byte_fallback = !pre->is_byte_level;
    parts.model = std::make_unique<Bpe>(*parts.vocabulary, std::move(merges), options);
    INGOT_TRY(finish(parts, pre->adds_bos, /*adds_eos=*/false));
    return parts;
  }

  Result<MergeTable> read_merges(const Vocabulary& vocabulary) const {
    MergeTable merges;
    if (!metadata_.has("tokenizer.ggml.merges")) {
      return Status::invalid_data("a GGUF vocabulary of kind '{}' needs tokenizer.ggml.merges",
                                  model_);
    }
    INGOT_TRY(const std::vector<std::string_view> lines,
              metadata_.strings("tokenizer.ggml.merges"));
    merges.reserve(lines.size());
    std::string merged;
    for (size_t rank = 0; rank < lines.size(); ++rank) {
      const std::string_view line = lines[rank];
      const size_t space = line.find(' ', 1);  // the left token may itself begin with a space
      if (space == std::string_view::npos) {
        return Status::invalid_data(
            "tokenizer.ggml.merges[{}] is not two tokens with a space between", rank);
      }
      const std::string_view left = line.substr(0, space);
      const std::string_view right = line.substr(space + 1);
      merged.assign(left);
      merged += right;
      const std::optional<TokenId> left_id = vocabulary.find(left);
      const std::optional<TokenId> right_id = vocabulary.find(right);
      const std::optional<TokenId> id = vocabulary.find(merged);
      // Converters leave merges behind whose tokens they dropped: no text can need them.
      if (!left_id || !right_id || !id || merges.find(*left_id, *right_id) != nullptr) continue;
      merges.insert(*left_id, *right_id, {static_cast<uint32_t>(rank), *id});
    }
    return merges;
  }

  Result<PipelineParts> wordpiece() {
    PipelineParts parts;
    INGOT_TRY(fill_vocabulary(parts));
    BertNormalizerOptions options;
    INGOT_TRY(options.lowercase, flag("tokenizer.ggml.normalizer.lowercase", true));
    INGOT_TRY(options.strip_accents,
              flag("tokenizer.ggml.normalizer.strip_accents", options.lowercase));
    parts.normalizers.push_back(make_bert_normalizer(options));
    parts.pre_tokenizers.push_back(make_char_split(is_space, SplitBehavior::kRemoved));
    parts.pre_tokenizers.push_back(make_char_split(is_bert_punctuation, SplitBehavior::kIsolated));
    parts.decoders.push_back(make_sentencepiece_decoder({}));

    const size_t count = pieces_.size();
    INGOT_TRY(const auto unk, special_id("tokenizer.ggml.unknown_token_id", 100, count));
    WordPieceOptions model;
    if (unk) model.unk_token = pieces_[static_cast<size_t>(*unk)].piece;
    model.first_prefix = kSpaceMark;
    model.continuing_prefix = "";
    parts.model = std::make_unique<WordPiece>(*parts.vocabulary, std::move(model));
    parts.special.unk = unk;
    INGOT_TRY(add_tokens(parts));
    INGOT_TRY(read_special_ids(count, parts));
    INGOT_TRY(const auto cls, special_id("tokenizer.ggml.cls_token_id", 101, count));
    INGOT_TRY(parts.special.bos, special_id("tokenizer.ggml.bos_token_id", cls, count));
    INGOT_TRY(const auto sep, special_id("tokenizer.ggml.seperator_token_id", 102, count));
    parts.templates.push_back(bos_eos_template(parts.special.bos, sep, std::nullopt));
    return parts;
  }

  Result<PipelineParts> rwkv() {
    PipelineParts parts;
    INGOT_TRY(fill_vocabulary(parts));
    INGOT_TRY(parts.special.unk,
              special_id("tokenizer.ggml.unknown_token_id", std::nullopt, pieces_.size()));
    parts.model = std::make_unique<LongestMatch>(*parts.vocabulary, parts.special.unk);
    parts.decoders.push_back(make_escaped_bytes_decoder());
    INGOT_TRY(finish(parts, /*adds_bos=*/false, /*adds_eos=*/false));
    return parts;
  }

  Result<PipelineParts> plamo2() {
    PipelineParts parts;
    INGOT_TRY(fill_vocabulary(parts));
    std::vector<LeastCost::Entry> entries;
    for (size_t i = 0; i < pieces_.size(); ++i) {
      const PieceType type = pieces_[i].type;
      if (type == PieceType::kNormal || type == PieceType::kUserDefined) {
        entries.push_back({pieces_[i].piece, static_cast<TokenId>(i), pieces_[i].score});
      }
    }
    INGOT_TRY(parts.model, LeastCost::make(entries, *parts.vocabulary));
    parts.decoders.push_back(make_byte_fallback_decoder());
    INGOT_TRY(finish(parts, /*adds_bos=*/false, /*adds_eos=*/false));
    return parts;
  }

  const GgufMetadata& metadata_;
  std::string_view model_;
  GgufPieces file_pieces_;
  const std::vector<SentencePieceEntry>& pieces_ = file_pieces_.entries;
};

}  // namespace

Result<PipelineParts> read_gguf_vocabulary(const GgufMetadata& metadata) {
  return GgufVocabularyReader(metadata).run();
}

}  // namespace ingot::tok
