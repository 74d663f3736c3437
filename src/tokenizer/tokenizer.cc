// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/tokenizer.h"

#include <system_error>
#include <utility>

#include "base/limits.h"
#include "base/mapped_file.h"
#include "tokenizer/gguf_vocab.h"
#include "tokenizer/hf_fields.h"
#include "tokenizer/hf_json.h"
#include "tokenizer/pipeline.h"
#include "tokenizer/sentencepiece.h"
#include "tokenizer/special_tokens.h"

namespace ingot {

namespace {

using TokenizerPtr = std::shared_ptr<const Tokenizer>;

TokenizerPtr finish(tok::PipelineParts parts) {
  return std::make_shared<const tok::Pipeline>(std::move(parts));
}

bool is_present(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

// tokenizer.model with what the files beside it add: tokens, and whether bos and eos surround a
// text.
Result<tok::PipelineParts> read_sentencepiece_folder(const std::filesystem::path& path,
                                                     const tok::FolderFiles& files) {
  INGOT_TRY(const std::shared_ptr<const MappedFile> file, MappedFile::open(path));
  INGOT_TRY(tok::PipelineParts parts, tok::read_sentencepiece_model(file->bytes(), path.string()));
  INGOT_TRY(file->check_intact());
  INGOT_TRY(auto added, tok::listed_added_tokens(files, parts.vocabulary->size()));
  INGOT_TRY(parts.added.add_with_ids(std::move(added), parts.normalizers, path.string()));
  INGOT_TRY(tok::apply_special_tokens(files, parts));
  const std::vector<tok::TemplatePart>& defaults = parts.templates.front().single;
  const bool adds_bos =
      tok::bool_field_or(files.tokenizer_config, "add_bos_token", !defaults.front().is_text());
  const bool adds_eos =
      tok::bool_field_or(files.tokenizer_config, "add_eos_token", !defaults.back().is_text());
  const std::optional<TokenId> eos =
      parts.special.eos.empty() ? std::nullopt : std::optional(parts.special.eos.front());
  const std::optional<TokenId> bos = adds_bos ? parts.special.bos : std::nullopt;
  parts.templates = {tok::bos_eos_template(bos, adds_eos ? eos : std::nullopt, bos)};
  return parts;
}

}  // namespace

Result<TokenizerPtr> Tokenizer::from_tokenizer_json(std::string_view text,
                                                    std::string_view source) {
  if (text.size() > limits::kTokenizerJsonBytes) {
    return Status::resource_exhausted("{}: {} bytes; at most {} are allowed", source, text.size(),
                                      limits::kTokenizerJsonBytes);
  }
  INGOT_TRY(tok::PipelineParts parts, tok::read_tokenizer_json(text, source));
  return finish(std::move(parts));
}

Result<TokenizerPtr> Tokenizer::from_sentencepiece(std::span<const std::byte> bytes,
                                                   std::string_view source) {
  INGOT_TRY(tok::PipelineParts parts, tok::read_sentencepiece_model(bytes, source));
  return finish(std::move(parts));
}

Result<TokenizerPtr> Tokenizer::from_gguf(const GgufMetadata& metadata) {
  INGOT_TRY(tok::PipelineParts parts, tok::read_gguf_vocabulary(metadata));
  return finish(std::move(parts));
}

Result<TokenizerPtr> Tokenizer::from_folder(const std::filesystem::path& folder) {
  INGOT_TRY(const tok::FolderFiles files, tok::read_folder_files(folder));
  const std::filesystem::path json = folder / "tokenizer.json";
  if (is_present(json)) {
    INGOT_TRY(const std::shared_ptr<const MappedFile> file, MappedFile::open(json));
    const std::string_view text(reinterpret_cast<const char*>(file->bytes().data()),
                                file->bytes().size());
    if (text.size() > limits::kTokenizerJsonBytes) {
      return Status::resource_exhausted("{}: {} bytes; at most {} are allowed", json.string(),
                                        text.size(), limits::kTokenizerJsonBytes);
    }
    INGOT_TRY(tok::PipelineParts parts, tok::read_tokenizer_json(text, json.string()));
    INGOT_TRY(file->check_intact());
    INGOT_TRY(tok::apply_special_tokens(files, parts));
    return finish(std::move(parts));
  }
  const std::filesystem::path model = folder / "tokenizer.model";
  if (is_present(model)) {
    INGOT_TRY(tok::PipelineParts parts, read_sentencepiece_folder(model, files));
    return finish(std::move(parts));
  }
  return Status::not_found("{}: it holds neither tokenizer.json nor tokenizer.model",
                           folder.string());
}

}  // namespace ingot
