// SPDX-License-Identifier: Apache-2.0
#include "convert/hf_tokenizer.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/utf8.h"
#include "convert/tokenizer_probes.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/gguf_pieces.h"
#include "tokenizer/gguf_pre.h"
#include "tokenizer/tokenizer.h"

namespace ingot {
namespace {

using tok::PieceType;

constexpr std::string_view kSpaceMark = "\u2581";

Json added_tokens(const tok::GgufPieces& pieces) {
  Json list = Json::array();
  for (size_t i = 0; i < pieces.entries.size(); ++i) {
    const tok::SentencePieceEntry& entry = pieces.entries[i];
    const bool is_special = entry.type == PieceType::kControl || entry.type == PieceType::kUnknown;
    if (!is_special && entry.type != PieceType::kUserDefined) continue;
    list.push_back({{"id", i},
                    {"content", std::string(entry.piece)},
                    {"single_word", false},
                    {"lstrip", false},
                    {"rstrip", false},
                    {"normalized", false},
                    {"special", is_special}});
  }
  return list;
}

Json vocabulary(const tok::GgufPieces& pieces) {
  Json vocab = Json::object();
  for (size_t i = 0; i < pieces.entries.size(); ++i)
    vocab[std::string(pieces.entries[i].piece)] = i;
  return vocab;
}

// What goes before and after a text.
Json post_processor(const Tokenizer& original, const std::vector<TokenId>& plain,
                    const std::vector<TokenId>& whole) {
  const Tokenizer::SpecialTokens& special = original.special();
  const bool adds_bos = special.bos && whole.size() > plain.size() && whole.front() == *special.bos;
  const bool adds_eos =
      !special.eos.empty() && whole.size() > plain.size() && whole.back() == special.eos.front();
  if (!adds_bos && !adds_eos) return Json();
  Json single = Json::array();
  Json tokens = Json::object();
  const auto add = [&](TokenId id) {
    const std::string text(original.piece(id));
    single.push_back({{"SpecialToken", {{"id", text}, {"type_id", 0}}}});
    tokens[text] = {{"id", text}, {"ids", Json::array({id})}, {"tokens", Json::array({text})}};
  };
  if (adds_bos) add(*special.bos);
  single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
  if (adds_eos) add(special.eos.front());
  Json pair = single;
  pair.push_back({{"Sequence", {{"id", "B"}, {"type_id", 1}}}});
  return {{"type", "TemplateProcessing"},
          {"single", single},
          {"pair", pair},
          {"special_tokens", tokens}};
}

Result<Json> byte_level(const GgufMetadata& metadata, const tok::GgufPieces& pieces) {
  std::string_view name;
  if (metadata.has("tokenizer.ggml.pre")) {
    INGOT_TRY(name, metadata.string("tokenizer.ggml.pre"));
  }
  const tok::GgufPre* pre = tok::find_gguf_pre(name);
  if (pre == nullptr || !pre->is_byte_level)
    return Status::unsupported("tokenizer.ggml.pre '{}' has no form in tokenizer.json", name);
  Json steps = Json::array();
  for (const std::string_view pattern : pre->patterns) {
    steps.push_back({{"type", "Split"},
                     {"pattern", {{"Regex", std::string(pattern)}}},
                     {"behavior", "Isolated"},
                     {"invert", false}});
  }
  const Json bytes = {{"type", "ByteLevel"},
                      {"add_prefix_space", false},
                      {"trim_offsets", true},
                      {"use_regex", false}};
  steps.push_back(bytes);
  INGOT_TRY(const auto lines, metadata.strings("tokenizer.ggml.merges"));
  Json merges = Json::array();
  for (const std::string_view line : lines) {
    const size_t space = line.find(' ', 1);
    if (space == std::string_view::npos) continue;
    merges.push_back(
        Json::array({std::string(line.substr(0, space)), std::string(line.substr(space + 1))}));
  }
  return Json{{"version", "1.0"},
              {"truncation", Json()},
              {"padding", Json()},
              {"added_tokens", added_tokens(pieces)},
              {"normalizer", Json()},
              {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", steps}}},
              {"post_processor", Json()},
              {"decoder", bytes},
              {"model",
               {{"type", "BPE"},
                {"dropout", Json()},
                {"unk_token", Json()},
                {"continuing_subword_prefix", Json()},
                {"end_of_word_suffix", Json()},
                {"fuse_unk", false},
                {"byte_fallback", false},
                {"ignore_merges", pre->ignore_merges},
                {"vocab", vocabulary(pieces)},
                {"merges", merges}}}};
}

// Every way to cut a piece into two, by the score of what they make: SentencePiece's BPE.
Json merges_of_scores(const tok::GgufPieces& pieces) {
  std::map<std::string_view, size_t> ids;
  for (size_t i = 0; i < pieces.entries.size(); ++i)
    ids.emplace(pieces.entries[i].piece, i);
  struct Merge {
    float score;
    size_t left;
    size_t right;
  };
  std::vector<Merge> merges;
  for (const tok::SentencePieceEntry& entry : pieces.entries) {
    if (entry.type != PieceType::kNormal) continue;
    for (size_t cut = 0; cut < entry.piece.size();) {
      cut += utf8::decode(entry.piece.substr(cut)).size;
      const auto left = ids.find(entry.piece.substr(0, cut));
      const auto right = ids.find(entry.piece.substr(cut));
      if (left != ids.end() && right != ids.end())
        merges.push_back({entry.score, left->second, right->second});
    }
  }
  std::ranges::stable_sort(merges, [](const Merge& a, const Merge& b) {
    if (a.score != b.score) return a.score > b.score;
    return a.left != b.left ? a.left < b.left : a.right < b.right;
  });
  Json list = Json::array();
  for (const Merge& merge : merges) {
    list.push_back(Json::array({std::string(pieces.entries[merge.left].piece),
                                std::string(pieces.entries[merge.right].piece)}));
  }
  return list;
}

Result<Json> sentencepiece(const GgufMetadata& metadata, const tok::GgufPieces& pieces,
                           const Tokenizer& original) {
  bool adds_space = true;
  if (metadata.has("tokenizer.ggml.add_space_prefix")) {
    INGOT_TRY(adds_space, metadata.boolean("tokenizer.ggml.add_space_prefix"));
  }
  const std::string mark(kSpaceMark);
  const Json replace = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", mark}};
  Json normalizers = Json::array();
  if (adds_space) normalizers.push_back({{"type", "Prepend"}, {"prepend", mark}});
  normalizers.push_back(replace);
  Json decoders =
      Json::array({{{"type", "Replace"}, {"pattern", {{"String", mark}}}, {"content", " "}},
                   {{"type", "ByteFallback"}},
                   {{"type", "Fuse"}}});
  if (adds_space)
    decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  const auto unk = original.special().unk;
  return Json{{"version", "1.0"},
              {"truncation", Json()},
              {"padding", Json()},
              {"added_tokens", added_tokens(pieces)},
              {"normalizer", {{"type", "Sequence"}, {"normalizers", normalizers}}},
              {"pre_tokenizer", Json()},
              {"post_processor", Json()},
              {"decoder", {{"type", "Sequence"}, {"decoders", decoders}}},
              {"model",
               {{"type", "BPE"},
                {"dropout", Json()},
                {"unk_token", unk ? Json(std::string(original.piece(*unk))) : Json()},
                {"continuing_subword_prefix", Json()},
                {"end_of_word_suffix", Json()},
                {"fuse_unk", true},
                {"byte_fallback", true},
                {"ignore_merges", false},
                {"vocab", vocabulary(pieces)},
                {"merges", merges_of_scores(pieces)}}}};
}

Result<std::string> make_tokenizer_json(const GgufMetadata& metadata, const Tokenizer& original) {
  if (metadata.has("tokenizer.huggingface.json")) {
    INGOT_TRY(const std::string_view text, metadata.string("tokenizer.huggingface.json"));
    return std::string(text);
  }
  INGOT_TRY(const std::string_view kind, metadata.string("tokenizer.ggml.model"));
  INGOT_TRY(const tok::GgufPieces pieces, tok::read_gguf_pieces(metadata));
  const bool is_known = kind == "gpt2" || kind == "llama";
  if (!is_known) return Status::unsupported("a vocabulary of kind '{}'", kind);
  INGOT_TRY(Json json, kind == "gpt2" ? byte_level(metadata, pieces)
                                      : sentencepiece(metadata, pieces, original));
  INGOT_TRY(const auto plain, original.encode("x", {.add_special = false}));
  INGOT_TRY(const auto whole, original.encode("x", {.add_special = true}));
  json["post_processor"] = post_processor(original, plain, whole);
  std::string text = dump_json(json);
  INGOT_TRY(const auto made, Tokenizer::from_tokenizer_json(text, "tokenizer.json"));
  INGOT_TRY(const bool is_alike, encodes_alike(original, *made));
  if (!is_alike) return Status::unsupported("it would encode some texts otherwise");
  return text;
}

std::string make_tokenizer_config(const GgufMetadata& metadata, const Tokenizer& original) {
  Json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                 {"clean_up_tokenization_spaces", false}};
  const Tokenizer::SpecialTokens& special = original.special();
  const auto set = [&](const char* key, std::optional<TokenId> id) {
    if (id) config[key] = std::string(original.piece(*id));
  };
  set("bos_token", special.bos);
  set("unk_token", special.unk);
  set("pad_token", special.pad);
  if (!special.eos.empty()) set("eos_token", special.eos.front());
  const auto found = find_chat_template(metadata, false);
  if (found.is_ok()) config["chat_template"] = found->text;
  return dump_json(config, 2) + "\n";
}

}  // namespace

Status add_tokenizer_files(const GgufMetadata& metadata, std::vector<SideFile>& files,
                           std::vector<std::string>& notes) {
  const auto original = Tokenizer::from_gguf(metadata);
  if (!original.is_ok()) {
    notes.push_back(fmt::format("no tokenizer is written: {}", original.status().message()));
    return Status::ok();
  }
  auto text = make_tokenizer_json(metadata, **original);
  if (text.is_ok()) {
    files.push_back({"tokenizer.json", *std::move(text), {}});
  } else {
    notes.push_back(fmt::format("no tokenizer.json is written ({}); take the original model's",
                                text.status().message()));
  }
  files.push_back({"tokenizer_config.json", make_tokenizer_config(metadata, **original), {}});
  return Status::ok();
}

}  // namespace ingot
