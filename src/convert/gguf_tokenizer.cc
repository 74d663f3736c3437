// SPDX-License-Identifier: Apache-2.0
#include "convert/gguf_tokenizer.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/limits.h"
#include "base/mapped_file.h"
#include "convert/tokenizer_json.h"
#include "convert/tokenizer_probes.h"
#include "formats/gguf_head.h"
#include "tokenizer/charsmap.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/gguf_pre.h"
#include "tokenizer/known_patterns.h"
#include "tokenizer/sentencepiece_proto.h"
#include "tokenizer/tokenizer.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;
using tok::PieceType;

Result<std::shared_ptr<const Tokenizer>> read_back(const GgufKeyValues& values) {
  INGOT_TRY(const GgufHead head, make_gguf_head(values, {}));
  const auto bytes = std::as_bytes(std::span(head.bytes));
  INGOT_TRY(const auto file, GgufFile::parse(MappedFile::from_memory(bytes, "the vocabulary")));
  return Tokenizer::from_gguf(file->metadata());
}

void set_id(const char* key, std::optional<TokenId> id, GgufKeyValues& values) {
  if (id) values.set(key, static_cast<uint32_t>(*id));
}

Status set_special_keys(const Tokenizer& tokenizer, GgufKeyValues& values) {
  const Tokenizer::SpecialTokens& special = tokenizer.special();
  const auto eos = [&](size_t i) {
    return i < special.eos.size() ? std::optional(special.eos[i]) : std::nullopt;
  };
  set_id("tokenizer.ggml.bos_token_id", special.bos, values);
  set_id("tokenizer.ggml.eos_token_id", eos(0), values);
  set_id("tokenizer.ggml.eot_token_id", eos(1), values);
  set_id("tokenizer.ggml.eom_token_id", eos(2), values);
  set_id("tokenizer.ggml.unknown_token_id", special.unk, values);
  set_id("tokenizer.ggml.padding_token_id", special.pad, values);
  INGOT_TRY(const auto plain, tokenizer.encode("x", {.add_special = false}));
  INGOT_TRY(const auto whole, tokenizer.encode("x", {.add_special = true}));
  const bool adds_bos = special.bos && whole.size() > plain.size() && whole.front() == *special.bos;
  const bool adds_eos = eos(0) && whole.size() > plain.size() && whole.back() == *eos(0);
  values.set("tokenizer.ggml.add_bos_token", adds_bos);
  values.set("tokenizer.ggml.add_eos_token", adds_eos);
  return Status::ok();
}

// Tokens with their types and scores, in the form all kinds share.
struct Vocabulary {
  std::vector<std::string> tokens;
  std::vector<int32_t> types;
  std::vector<float> scores;  // empty: has none

  void pad(int64_t vocab) {
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (!tokens[i].empty()) continue;
      tokens[i] = fmt::format("[PAD{}]", i);
      types[i] = static_cast<int32_t>(PieceType::kUnused);
    }
    while (tokens.size() < static_cast<size_t>(vocab)) {
      tokens.push_back(fmt::format("[PAD{}]", tokens.size()));
      types.push_back(static_cast<int32_t>(PieceType::kUnused));
      if (!scores.empty()) scores.push_back(-10000);
    }
  }
  void resize(size_t size) {
    if (size <= tokens.size()) return;
    tokens.resize(size);
    types.resize(size, static_cast<int32_t>(PieceType::kNormal));
    if (!scores.empty()) scores.resize(size, -1000);
  }
  void set_keys(GgufKeyValues& values) const {
    values.set("tokenizer.ggml.tokens", tokens);
    if (!scores.empty()) values.set("tokenizer.ggml.scores", scores);
    values.set("tokenizer.ggml.token_type", types);
  }
};

void add_tokens(const TokenizerJson& json, Vocabulary& vocabulary) {
  for (const TokenizerJson::Added& added : json.added) {
    if (added.id < 0 || added.id >= limits::kVocab) continue;
    const auto id = static_cast<size_t>(added.id);
    vocabulary.resize(id + 1);
    vocabulary.tokens[id] = added.content;
    const bool is_unknown = json.unk_token == added.content || json.unk_id == added.id;
    vocabulary.types[id] = static_cast<int32_t>(is_unknown         ? PieceType::kUnknown
                                                : added.is_special ? PieceType::kControl
                                                                   : PieceType::kUserDefined);
  }
}

bool is_byte_token(const std::string& token) {
  return token.size() == 6 && token.starts_with("<0x") && token.ends_with(">");
}

// Steps of a normalizer or pre-tokenizer, sequences opened.
void flatten(const Json& step, std::vector<Json>& out) {
  if (!step.is_object()) return;
  for (const char* key : {"pretokenizers", "normalizers"}) {
    if (!step.contains(key) || !step[key].is_array()) continue;
    for (const Json& inner : step[key])
      flatten(inner, out);
    return;
  }
  out.push_back(step);
}

// The patterns that a text is cut by before byte-level BPE.
std::vector<std::string> split_patterns(const Json& pre_tokenizer) {
  std::vector<Json> steps;
  flatten(pre_tokenizer, steps);
  std::vector<std::string> patterns;
  for (const Json& step : steps) {
    const std::string type = step.value("type", "");
    if (type == "Split" && step.contains("pattern") && step["pattern"].is_object() &&
        step["pattern"].contains("Regex") && step["pattern"]["Regex"].is_string())
      patterns.push_back(step["pattern"]["Regex"].get<std::string>());
    if (type == "Digits") patterns.emplace_back(tok::patterns::kNumber);
    if (type == "ByteLevel" && step.value("use_regex", true))
      patterns.emplace_back(tok::patterns::kGpt2);
  }
  return patterns;
}

// The kinds to try, the likeliest first: those with these very patterns, then one of each other.
std::vector<const tok::GgufPre*> pre_candidates(const TokenizerJson& json) {
  const std::vector<std::string> wanted = split_patterns(json.pre_tokenizer);
  std::vector<const tok::GgufPre*> best;
  std::vector<const tok::GgufPre*> rest;
  for (const tok::GgufPre& kind : tok::gguf_pre_kinds()) {
    if (!kind.is_byte_level || kind.ignore_merges != json.ignore_merges) continue;
    const bool is_same = std::ranges::equal(kind.patterns, wanted);
    std::vector<const tok::GgufPre*>& list = is_same ? best : rest;
    const bool is_new = std::ranges::none_of(list, [&](const tok::GgufPre* other) {
      return std::ranges::equal(other->patterns, kind.patterns);
    });
    if (is_new) list.push_back(&kind);
  }
  best.insert(best.end(), rest.begin(), rest.end());
  return best;
}

Result<bool> try_byte_level(const TokenizerJson& json, const Tokenizer& original, int64_t vocab,
                            GgufKeyValues& values) {
  Vocabulary vocabulary;
  vocabulary.tokens = json.tokens;
  vocabulary.types.assign(json.tokens.size(), static_cast<int32_t>(PieceType::kNormal));
  add_tokens(json, vocabulary);
  vocabulary.pad(vocab);
  values.set("tokenizer.ggml.model", "gpt2");
  values.set("tokenizer.ggml.pre", "default");
  vocabulary.set_keys(values);
  std::vector<std::string> merges;
  merges.reserve(json.merges.size());
  for (const auto& [left, right] : json.merges)
    merges.push_back(left + " " + right);
  values.set("tokenizer.ggml.merges", merges);
  INGOT_TRY(set_special_keys(original, values));
  for (const tok::GgufPre* kind : pre_candidates(json)) {
    values.set("tokenizer.ggml.pre", std::string(kind->name));
    const auto tokenizer = read_back(values);
    if (!tokenizer.is_ok()) continue;
    INGOT_TRY(const bool is_alike, encodes_alike(original, **tokenizer));
    if (is_alike) return true;
  }
  const auto kinds = pre_candidates(json);
  if (!kinds.empty()) values.set("tokenizer.ggml.pre", std::string(kinds.front()->name));
  return false;
}

Result<bool> try_sentencepiece(Vocabulary vocabulary, bool is_bpe, const std::string& charsmap,
                               const Tokenizer& original, int64_t vocab, GgufKeyValues& values) {
  vocabulary.pad(vocab);
  values.set("tokenizer.ggml.model", is_bpe ? "llama" : "t5");
  values.set("tokenizer.ggml.pre", "default");
  vocabulary.set_keys(values);
  if (!charsmap.empty())
    values.set("tokenizer.ggml.precompiled_charsmap",
               std::vector<uint8_t>(charsmap.begin(), charsmap.end()));
  INGOT_TRY(set_special_keys(original, values));
  for (const bool adds_space : {true, false}) {
    for (const bool removes_extra : {false, true}) {
      values.set("tokenizer.ggml.add_space_prefix", adds_space);
      if (!is_bpe) values.set("tokenizer.ggml.remove_extra_whitespaces", removes_extra);
      const auto tokenizer = read_back(values);
      if (!tokenizer.is_ok()) return false;
      INGOT_TRY(const bool is_alike, encodes_alike(original, **tokenizer));
      if (is_alike) return true;
      if (is_bpe) break;
    }
  }
  return false;
}

// SentencePiece's BPE from merges: a piece's score is how early it is made.
Vocabulary vocabulary_of_merges(const TokenizerJson& json) {
  Vocabulary vocabulary;
  vocabulary.tokens = json.tokens;
  vocabulary.types.assign(json.tokens.size(), static_cast<int32_t>(PieceType::kNormal));
  vocabulary.scores.assign(json.tokens.size(), -1e6F);
  std::map<std::string, float, std::less<>> made;
  for (size_t rank = 0; rank < json.merges.size(); ++rank)
    made.emplace(json.merges[rank].first + json.merges[rank].second, -static_cast<float>(rank));
  for (size_t i = 0; i < json.tokens.size(); ++i) {
    if (const auto found = made.find(json.tokens[i]); found != made.end())
      vocabulary.scores[i] = found->second;
    if (is_byte_token(json.tokens[i])) vocabulary.types[i] = static_cast<int32_t>(PieceType::kByte);
    if (json.unk_token && json.tokens[i] == *json.unk_token)
      vocabulary.types[i] = static_cast<int32_t>(PieceType::kUnknown);
  }
  add_tokens(json, vocabulary);
  return vocabulary;
}

Vocabulary vocabulary_of_unigram(const TokenizerJson& json) {
  Vocabulary vocabulary;
  vocabulary.tokens = json.tokens;
  vocabulary.types.assign(json.tokens.size(), static_cast<int32_t>(PieceType::kNormal));
  for (const double score : json.scores)
    vocabulary.scores.push_back(static_cast<float>(score));
  for (size_t i = 0; i < json.tokens.size(); ++i) {
    if (json.unk_id == static_cast<int64_t>(i))
      vocabulary.types[i] = static_cast<int32_t>(PieceType::kUnknown);
    if (json.byte_fallback && is_byte_token(json.tokens[i]))
      vocabulary.types[i] = static_cast<int32_t>(PieceType::kByte);
  }
  add_tokens(json, vocabulary);
  return vocabulary;
}

Result<std::optional<Vocabulary>> vocabulary_of_proto(const fs::path& folder, std::string& charsmap,
                                                      bool& is_bpe) {
  std::error_code error;
  const fs::path path = folder / "tokenizer.model";
  if (!fs::exists(path, error)) return std::optional<Vocabulary>();
  INGOT_TRY(const std::string bytes, read_small_file(path, limits::kTokenizerJsonBytes));
  INGOT_TRY(const tok::SentencePieceProto proto,
            tok::read_sentencepiece_proto(std::as_bytes(std::span(bytes)), path.string()));
  is_bpe = proto.model_type == tok::SentencePieceProto::ModelType::kBpe;
  charsmap = proto.precompiled_charsmap;
  Vocabulary vocabulary;
  for (const tok::SentencePieceEntry& piece : proto.pieces) {
    vocabulary.tokens.emplace_back(piece.piece);
    vocabulary.types.push_back(static_cast<int32_t>(piece.type));
    vocabulary.scores.push_back(piece.score);
  }
  return std::optional(std::move(vocabulary));
}

std::string charsmap_of(const Json& normalizer) {
  std::vector<Json> steps;
  flatten(normalizer, steps);
  for (const Json& step : steps) {
    if (step.value("type", "") != "Precompiled" || !step.contains("precompiled_charsmap")) continue;
    if (!step["precompiled_charsmap"].is_string()) continue;
    return tok::decode_base64(step["precompiled_charsmap"].get<std::string>()).value_or("");
  }
  return "";
}

// True when a kind of GGUF vocabulary encodes the probes alike; else `values` has the likeliest, if
// any.
Result<bool> try_kinds(const fs::path& folder, const std::optional<TokenizerJson>& json,
                       const Tokenizer& original, int64_t vocab, GgufKeyValues& values) {
  std::string charsmap;
  bool is_bpe = true;
  INGOT_TRY(std::optional<Vocabulary> pieces, vocabulary_of_proto(folder, charsmap, is_bpe));
  if (pieces) {
    if (json) add_tokens(*json, *pieces);
    INGOT_TRY(const bool is_done,
              try_sentencepiece(*std::move(pieces), is_bpe, charsmap, original, vocab, values));
    if (is_done) return true;
  }
  if (!json) return false;
  if (json->type == "Unigram")
    return try_sentencepiece(vocabulary_of_unigram(*json), false, charsmap_of(json->normalizer),
                             original, vocab, values);
  if (json->type == "BPE" && json->byte_fallback)
    return try_sentencepiece(vocabulary_of_merges(*json), true, "", original, vocab, values);
  if (json->type == "BPE") return try_byte_level(*json, original, vocab, values);
  return false;
}

// Rules that GGUF has no keys for: normal forms before byte-level BPE, tokens that take white space
// along or only stand alone.
bool says_more_than_gguf(const TokenizerJson& json) {
  const bool has_flags = std::ranges::any_of(
      json.added, [](const TokenizerJson::Added& added) { return added.has_flags; });
  return has_flags || (json.type == "BPE" && !json.byte_fallback && !json.normalizer.is_null());
}

void set_template_keys(const fs::path& folder, GgufKeyValues& values) {
  const auto plain = find_chat_template(folder, false);
  if (plain.is_ok()) values.set("tokenizer.chat_template", plain->text);
  const auto tools = find_chat_template(folder, true);
  if (tools.is_ok() && plain.is_ok() && tools->text != plain->text)
    values.set("tokenizer.chat_template.tool_use", tools->text);
}

}  // namespace

Status set_tokenizer_keys(const fs::path& folder, int64_t vocab, GgufKeyValues& values,
                          std::vector<std::string>& notes) {
  auto opened = Tokenizer::from_folder(folder);
  if (!opened.is_ok() && opened.status().code() == StatusCode::kNotFound) {
    values.set("tokenizer.ggml.model", "no_vocab");
    notes.emplace_back("the input has no tokenizer, so the output has none");
    return Status::ok();
  }
  INGOT_TRY(const auto original, std::move(opened));
  std::error_code error;
  const fs::path path = folder / "tokenizer.json";
  std::optional<TokenizerJson> json;
  std::string text;
  if (fs::exists(path, error)) {
    INGOT_TRY(text, read_small_file(path, limits::kTokenizerJsonBytes));
    INGOT_TRY(json, read_tokenizer_tables(text, path.string()));
  }
  INGOT_TRY(const bool is_alike, try_kinds(folder, json, *original, vocab, values));
  // Our reader prefers it; others have the keys above.
  const bool adds_json = json && (!is_alike || says_more_than_gguf(*json));
  if (adds_json && text.size() <= limits::kGgufStringBytes)
    values.set("tokenizer.huggingface.json", text);
  if (!is_alike) {
    if (!values.has("tokenizer.huggingface.json")) {
      return Status::unsupported("{}: GGUF has no kind of vocabulary for this tokenizer",
                                 folder.string());
    }
    if (!values.has("tokenizer.ggml.tokens")) {
      values.set("tokenizer.ggml.model", "none");
      INGOT_TRY(set_special_keys(*original, values));
    }
    notes.emplace_back(
        "no kind of GGUF vocabulary encodes quite as this tokenizer does; tokenizer.json is in the "
        "file whole (tokenizer.huggingface.json), which not every program reads");
  }
  set_template_keys(folder, values);
  return Status::ok();
}

}  // namespace ingot
