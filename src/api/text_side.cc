// SPDX-License-Identifier: Apache-2.0
#include "api/text_side.h"

#include <array>
#include <filesystem>
#include <system_error>

#include "api/loaded_model.h"
#include "base/json.h"
#include "base/mapped_file.h"

namespace ingot {
namespace {

namespace fs = std::filesystem;

// tokenizer_config.json spells a token as a string or as {"content": ...}.
std::string token_text(const Json& config, std::string_view key) {
  const auto found = config.find(key);
  if (found == config.end()) return {};
  if (found->is_string()) return found->get<std::string>();
  if (!found->is_object()) return {};
  const auto content = found->find("content");
  return content != found->end() && content->is_string() ? content->get<std::string>() : "";
}

void read_token_texts(const fs::path& folder, TextSide& side) {
  for (const char* name : {"tokenizer_config.json", "special_tokens_map.json"}) {
    const Result<Json> config = read_json_file(folder / name);
    if (!config.is_ok() || !config->is_object()) continue;
    if (side.bos_token.empty()) side.bos_token = token_text(*config, "bos_token");
    if (side.eos_token.empty()) side.eos_token = token_text(*config, "eos_token");
  }
}

void take_tokenizer(Result<std::shared_ptr<const Tokenizer>> tokenizer, TextSide& side) {
  side.tokenizer_status = tokenizer.status();
  if (!tokenizer.is_ok()) return;
  side.tokenizer = *std::move(tokenizer);
  const Tokenizer::SpecialTokens& special = side.tokenizer->special();
  if (side.bos_token.empty() && special.bos) side.bos_token = side.tokenizer->piece(*special.bos);
  if (side.eos_token.empty() && !special.eos.empty())
    side.eos_token = side.tokenizer->piece(special.eos.front());
}

void take_template(Result<ChatTemplateSource> source, TextSide& side) {
  side.template_status = source.status();
  if (source.is_ok()) side.chat_template = *std::move(source);
}

TextSide from_folder(const fs::path& folder, bool with_tools) {
  TextSide side;
  read_token_texts(folder, side);
  take_tokenizer(Tokenizer::from_folder(folder), side);
  take_template(find_chat_template(folder, with_tools), side);
  return side;
}

// A GGUF's bos and eos by their ids: special() may list other ends of an answer first.
std::string token_of_key(const GgufMetadata& metadata, const Tokenizer& tokenizer,
                         std::string_view key) {
  const Result<int64_t> id = metadata.integer(key);
  if (!id.is_ok() || *id < 0 || *id >= static_cast<int64_t>(tokenizer.vocab_size())) return {};
  return std::string(tokenizer.piece(static_cast<TokenId>(*id)));
}

TextSide from_metadata(const GgufMetadata& metadata, bool with_tools) {
  TextSide side;
  Result<std::shared_ptr<const Tokenizer>> tokenizer = Tokenizer::from_gguf(metadata);
  if (tokenizer.is_ok()) {
    side.bos_token = token_of_key(metadata, **tokenizer, "tokenizer.ggml.bos_token_id");
    side.eos_token = token_of_key(metadata, **tokenizer, "tokenizer.ggml.eos_token_id");
  }
  take_tokenizer(std::move(tokenizer), side);
  take_template(find_chat_template(metadata, with_tools), side);
  return side;
}

bool has_tokenizer_files(const fs::path& folder) {
  static constexpr std::array<const char*, 4> kNames = {
      "tokenizer.json", "tokenizer.model", "tokenizer_config.json", "chat_template.jinja"};
  std::error_code ignored;
  for (const char* name : kNames) {
    if (fs::exists(folder / name, ignored)) return true;
  }
  return false;
}

}  // namespace

TextSide text_side_of(const Checkpoint& checkpoint, bool with_tools) {
  const GgufMetadata* metadata = checkpoint.gguf_metadata();
  return metadata != nullptr ? from_metadata(*metadata, with_tools)
                             : from_folder(checkpoint.folder(), with_tools);
}

Result<TextSide> load_text_side(std::string_view path, bool with_tools) {
  if (path == "default") {
    INGOT_TRY(const auto checkpoint, open_checkpoint(path));
    return text_side_of(*checkpoint, with_tools);
  }
  const fs::path file(path);
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (!fs::exists(status))
    return Status::not_found("{}: no such file or folder; give a model's path or `default`", path);
  if (fs::is_directory(status)) {
    if (has_tokenizer_files(file)) return from_folder(file, with_tools);
    // No tokenizer files: a folder around one GGUF file, or nothing we know.
    const Result<std::shared_ptr<const Checkpoint>> checkpoint = Checkpoint::open(file);
    if (checkpoint.is_ok() && (*checkpoint)->gguf_metadata() != nullptr)
      return from_metadata(*(*checkpoint)->gguf_metadata(), with_tools);
    return from_folder(file, with_tools);
  }
  const std::string extension = file.extension().string();
  if (extension == ".safetensors" || extension == ".json" || extension == ".model" ||
      extension == ".jinja")
    return from_folder(file.has_parent_path() ? file.parent_path() : fs::path("."), with_tools);
  INGOT_TRY(const auto gguf, GgufFile::open(file));
  return from_metadata(gguf->metadata(), with_tools);
}

}  // namespace ingot
