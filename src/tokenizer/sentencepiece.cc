// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/sentencepiece.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/limits.h"
#include "base/utf8.h"
#include "tokenizer/byte_alphabet.h"
#include "tokenizer/models/score_bpe.h"
#include "tokenizer/models/unigram.h"

namespace ingot::tok {

namespace {

constexpr float kUnknownPenalty = 10.0F;

class SentencePieceNormalizer : public Normalizer {
 public:
  SentencePieceNormalizer(SentencePieceNormalization options, ByteTrie user_defined)
      : options_(std::move(options)), user_defined_(std::move(user_defined)) {}

  Status apply(NormalizedText& value) const override {
    const std::string_view space = options_.escape_whitespaces ? kSpaceMark : std::string_view(" ");
    const bool merges = options_.remove_extra_whitespaces;
    std::string_view rest = value.text;
    while (merges && !rest.empty()) {
      const Prefix prefix = next_prefix(rest);
      if (prefix.replacement != " ") break;
      rest.remove_prefix(prefix.size);
    }
    std::string out;
    if (!rest.empty()) {
      out.reserve(rest.size() + rest.size() / 2 + 4);
      if (options_.add_dummy_prefix && !options_.treat_whitespace_as_suffix) out += space;
    }
    bool is_after_space = merges;
    while (!rest.empty()) {
      const Prefix prefix = next_prefix(rest);
      std::string_view text = prefix.replacement;
      while (is_after_space && text.starts_with(' '))
        text.remove_prefix(1);
      for (const char c : text) {
        if (c == ' ') {
          out += space;
        } else {
          out += c;
        }
      }
      if (!text.empty()) is_after_space = merges && text.ends_with(' ');
      rest.remove_prefix(prefix.size);
      INGOT_TRY(check_growth(out));
    }
    while (merges && out.ends_with(space))
      out.resize(out.size() - space.size());
    if (options_.add_dummy_prefix && options_.treat_whitespace_as_suffix && !value.text.empty())
      out += space;
    value.text = utf8::is_valid(out) ? std::move(out) : utf8::replace_invalid(out);
    return Status::ok();
  }

 private:
  struct Prefix {
    size_t size;
    std::string_view replacement;
  };
  Prefix next_prefix(std::string_view text) const {
    const ByteTrie::Match symbol = user_defined_.longest_prefix(text, 0);
    if (symbol.size > 0) return {symbol.size, text.substr(0, symbol.size)};
    if (options_.charsmap) {
      if (const auto match = options_.charsmap->longest_prefix(text))
        return {match->size, match->replacement};
    }
    const size_t size = utf8::decode(text).size;
    return {size, text.substr(0, size)};
  }

  SentencePieceNormalization options_;
  ByteTrie user_defined_;
};

std::vector<bool> flags_of(const std::vector<SentencePieceEntry>& pieces,
                           std::initializer_list<PieceType> types) {
  std::vector<bool> flags(pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) {
    flags[i] = std::find(types.begin(), types.end(), pieces[i].type) != types.end();
  }
  return flags;
}

ByteTrie user_defined_trie(const std::vector<SentencePieceEntry>& pieces) {
  std::vector<std::pair<std::string_view, uint32_t>> keys;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].type == PieceType::kUserDefined) {
      keys.emplace_back(pieces[i].piece, static_cast<uint32_t>(i));
    }
  }
  return ByteTrie(std::move(keys));
}

TokenModelPtr make_unigram(const SentencePieceVocabulary& source, const Vocabulary& vocabulary,
                           std::optional<TokenId> unk) {
  float least = std::numeric_limits<float>::max();
  float most = std::numeric_limits<float>::min();
  for (const SentencePieceEntry& piece : source.pieces) {
    if (piece.type != PieceType::kNormal) continue;
    least = std::min(least, piece.score);
    most = std::max(most, piece.score);
  }
  std::vector<double> scores;
  scores.reserve(source.pieces.size());
  for (const SentencePieceEntry& piece : source.pieces) {
    // A user-defined symbol always wins over what it could be cut into.
    scores.push_back(piece.type == PieceType::kUserDefined
                         ? static_cast<double>(static_cast<float>(piece.piece.size()) * most) - 0.1
                         : static_cast<double>(piece.score));
  }
  UnigramOptions options;
  options.unk = unk;
  options.byte_fallback = source.byte_fallback;
  options.rounds_to_float = true;
  options.is_excluded = flags_of(source.pieces, {PieceType::kControl, PieceType::kUnknown,
                                                 PieceType::kByte, PieceType::kUnused});
  options.unk_score = static_cast<double>(least - kUnknownPenalty);
  return std::make_unique<Unigram>(vocabulary, std::move(scores), std::move(options));
}

TokenModelPtr make_score_bpe(const SentencePieceVocabulary& source, const Vocabulary& vocabulary,
                             std::optional<TokenId> unk) {
  std::vector<float> scores;
  scores.reserve(source.pieces.size());
  for (const SentencePieceEntry& piece : source.pieces)
    scores.push_back(piece.score);
  ScoreBpeOptions options;
  options.unk = unk;
  options.byte_fallback = source.byte_fallback;
  if (!source.merges_any_type) {
    options.is_excluded =
        flags_of(source.pieces, {PieceType::kControl, PieceType::kUnknown, PieceType::kByte});
    options.is_unused = flags_of(source.pieces, {PieceType::kUnused});
  }
  options.user_defined = user_defined_trie(source.pieces);
  return std::make_unique<ScoreBpe>(vocabulary, std::move(scores), std::move(options));
}

}  // namespace

NormalizerPtr make_sentencepiece_normalizer(SentencePieceNormalization options,
                                            ByteTrie user_defined) {
  return std::make_unique<SentencePieceNormalizer>(std::move(options), std::move(user_defined));
}

Result<PipelineParts> build_sentencepiece(const SentencePieceVocabulary& source,
                                          SentencePieceNormalization normalization,
                                          std::string_view name) {
  PipelineParts parts;
  std::optional<TokenId> unk;
  std::vector<std::pair<TokenId, AddedToken>> controls;
  for (size_t i = 0; i < source.pieces.size(); ++i) {
    const SentencePieceEntry& piece = source.pieces[i];
    const auto id = static_cast<TokenId>(i);
    INGOT_TRY(parts.vocabulary->insert(piece.piece, id, name));
    if (piece.type == PieceType::kUnknown && !unk) unk = id;
    if (piece.type == PieceType::kControl || piece.type == PieceType::kUnknown) {
      AddedToken token;
      token.content = piece.piece;
      token.normalized = false;
      token.special = true;
      controls.emplace_back(id, std::move(token));
    }
  }
  parts.model = source.is_bpe ? make_score_bpe(source, *parts.vocabulary, unk)
                              : make_unigram(source, *parts.vocabulary, unk);
  parts.special.unk = unk;
  parts.decoders.push_back(make_sentencepiece_decoder(
      {.strips_front = normalization.add_dummy_prefix || normalization.remove_extra_whitespaces,
       .strips_all_front = normalization.remove_extra_whitespaces}));
  parts.normalizers.push_back(
      make_sentencepiece_normalizer(std::move(normalization), user_defined_trie(source.pieces)));
  INGOT_TRY(parts.added.add_with_ids(std::move(controls), parts.normalizers, name));
  return parts;
}

Result<PipelineParts> read_sentencepiece_model(std::span<const std::byte> bytes,
                                               std::string_view source) {
  INGOT_TRY(SentencePieceProto proto, read_sentencepiece_proto(bytes, source));
  using ModelType = SentencePieceProto::ModelType;
  if (proto.model_type != ModelType::kBpe && proto.model_type != ModelType::kUnigram) {
    return Status::unsupported(
        "{}: only BPE and Unigram models are supported, not words or characters", source);
  }
  SentencePieceNormalization normalization;
  if (!proto.precompiled_charsmap.empty()) {
    INGOT_TRY(normalization.charsmap, Charsmap::parse(proto.precompiled_charsmap, source));
  }
  normalization.add_dummy_prefix = proto.add_dummy_prefix;
  normalization.remove_extra_whitespaces = proto.remove_extra_whitespaces;
  normalization.escape_whitespaces = proto.escape_whitespaces;
  normalization.treat_whitespace_as_suffix = proto.treat_whitespace_as_suffix;
  SentencePieceVocabulary vocabulary;
  vocabulary.pieces = std::move(proto.pieces);
  vocabulary.is_bpe = proto.model_type == ModelType::kBpe;
  vocabulary.byte_fallback = proto.byte_fallback;
  INGOT_TRY(PipelineParts parts, build_sentencepiece(vocabulary, std::move(normalization), source));
  if (!parts.special.unk) return Status::invalid_data("{}: the model has no unknown piece", source);

  const auto control = [&](std::string_view text) -> std::optional<TokenId> {
    const std::optional<TokenId> id = parts.vocabulary->find(text);
    if (!id || vocabulary.pieces[static_cast<size_t>(*id)].type != PieceType::kControl)
      return std::nullopt;
    return id;
  };
  parts.special.bos = control(proto.bos_piece);
  parts.special.pad = control(proto.pad_piece);
  const std::optional<TokenId> eos = control(proto.eos_piece);
  if (eos) parts.special.eos.push_back(*eos);
  // Decoders of text (BPE: Llama, Gemma) begin with bos; encoders (Unigram: T5) end with eos.
  const std::optional<TokenId> bos = vocabulary.is_bpe ? parts.special.bos : std::nullopt;
  parts.templates.push_back(bos_eos_template(bos, vocabulary.is_bpe ? std::nullopt : eos, bos));
  return parts;
}

}  // namespace ingot::tok
