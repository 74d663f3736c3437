// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/special_tokens.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "base/limits.h"
#include "tokenizer/hf_fields.h"

namespace ingot::tok {

namespace {

// A token is written as its text or as {"content": text, ...}.
std::optional<std::string> token_text(const Json& file, const char* key) {
  const Json* field = find_field(file, key);
  if (field == nullptr) return std::nullopt;
  if (field->is_string()) return field->get_ref<const std::string&>();
  const Json* content = find_field(*field, "content");
  if (content == nullptr || !content->is_string()) return std::nullopt;
  return content->get_ref<const std::string&>();
}

std::optional<TokenId> named_token(const FolderFiles& files, const PipelineParts& parts,
                                   const char* key) {
  std::optional<std::string> text = token_text(files.tokenizer_config, key);
  if (!text) text = token_text(files.special_tokens_map, key);
  return text ? find_token(parts, *text) : std::nullopt;
}

// A number or a list of numbers; -1 stands for "none".
Result<std::vector<TokenId>> id_list(const Json& file, const char* key, size_t vocab_size,
                                     std::string_view source) {
  std::vector<TokenId> ids;
  const Json* field = find_field(file, key);
  if (field == nullptr) return ids;
  const auto add = [&](const Json& item) -> Status {
    if (!item.is_number_integer())
      return Status::invalid_data("{}: '{}' is no token id", source, key);
    const auto id = item.get<int64_t>();
    if (id == -1) return Status::ok();
    if (id < 0 || static_cast<uint64_t>(id) >= vocab_size) {
      return Status::invalid_data("{}: '{}' is {}, but the tokenizer has {} tokens", source, key,
                                  id, vocab_size);
    }
    ids.push_back(static_cast<TokenId>(id));
    return Status::ok();
  };
  if (!field->is_array()) {
    INGOT_TRY(add(*field));
    return ids;
  }
  if (field->size() > limits::kAddedTokens) {
    return Status::resource_exhausted("{}: '{}' lists {} ids", source, key, field->size());
  }
  for (const Json& item : *field)
    INGOT_TRY(add(item));
  return ids;
}

Result<Json> read_if_present(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return Json();
  return read_json_file(path);
}

}  // namespace

std::optional<TokenId> find_token(const PipelineParts& parts, std::string_view text) {
  const std::optional<TokenId> added = parts.added.find(text);
  return added ? added : parts.vocabulary->find(text);
}

size_t vocab_size_of(const PipelineParts& parts) {
  return std::max(parts.vocabulary->size(), parts.added.end_id());
}

void add_eos(Tokenizer::SpecialTokens& special, TokenId id) {
  if (std::find(special.eos.begin(), special.eos.end(), id) == special.eos.end())
    special.eos.push_back(id);
}

Result<FolderFiles> read_folder_files(const std::filesystem::path& folder) {
  FolderFiles files;
  INGOT_TRY(files.tokenizer_config, read_if_present(folder / "tokenizer_config.json"));
  INGOT_TRY(files.special_tokens_map, read_if_present(folder / "special_tokens_map.json"));
  INGOT_TRY(files.generation_config, read_if_present(folder / "generation_config.json"));
  INGOT_TRY(files.config, read_if_present(folder / "config.json"));
  INGOT_TRY(files.added_tokens, read_if_present(folder / "added_tokens.json"));
  return files;
}

Status apply_special_tokens(const FolderFiles& files, PipelineParts& parts) {
  Tokenizer::SpecialTokens& special = parts.special;
  const size_t vocab_size = vocab_size_of(parts);
  const auto set = [&](std::optional<TokenId>& slot, const char* key) {
    if (const std::optional<TokenId> id = named_token(files, parts, key)) slot = id;
  };
  set(special.bos, "bos_token");
  set(special.pad, "pad_token");
  set(special.unk, "unk_token");
  if (const std::optional<TokenId> id = named_token(files, parts, "eos_token")) {
    special.eos.clear();
    add_eos(special, *id);
  }
  INGOT_TRY(std::vector<TokenId> ends,
            id_list(files.generation_config, "eos_token_id", vocab_size, "generation_config.json"));
  // A model's config describes its network; its ids count only where nothing closer to the text
  // speaks.
  const bool has_own_files =
      !files.tokenizer_config.is_null() || !files.special_tokens_map.is_null();
  if (ends.empty() && !has_own_files) {
    INGOT_TRY(ends, id_list(files.config, "eos_token_id", vocab_size, "config.json"));
  }
  for (const TokenId id : ends)
    add_eos(special, id);
  if (!special.bos && !has_own_files) {
    INGOT_TRY(const std::vector<TokenId> starts,
              id_list(files.config, "bos_token_id", vocab_size, "config.json"));
    if (!starts.empty()) special.bos = starts[0];
  }
  return Status::ok();
}

Result<std::vector<std::pair<TokenId, AddedToken>>> listed_added_tokens(const FolderFiles& files,
                                                                        size_t vocab_size) {
  std::map<TokenId, AddedToken> tokens;
  const auto check = [&](int64_t id, size_t count, std::string_view source) -> Status {
    if (id >= 0 && static_cast<uint64_t>(id) < vocab_size + count + limits::kAddedTokens)
      return Status::ok();
    return Status::invalid_data(
        "{}: added token id {} is out of range (the vocabulary has {} tokens)", source, id,
        vocab_size);
  };
  if (files.added_tokens.is_object()) {
    for (const auto& [content, id] : files.added_tokens.items()) {
      if (!id.is_number_integer())
        return Status::invalid_data("added_tokens.json: '{}' has no id", content);
      INGOT_TRY(check(id.get<int64_t>(), files.added_tokens.size(), "added_tokens.json"));
      AddedToken token;
      token.content = content;
      token.normalized = false;
      tokens.insert_or_assign(id.get<TokenId>(), std::move(token));
    }
  }
  const Json* decoder = find_field(files.tokenizer_config, "added_tokens_decoder");
  if (decoder != nullptr && decoder->is_object()) {
    for (const auto& [key, value] : decoder->items()) {
      int64_t id = -1;
      const auto [end, problem] = std::from_chars(key.data(), key.data() + key.size(), id);
      if (problem != std::errc() || end != key.data() + key.size()) {
        return Status::invalid_data("tokenizer_config.json: '{}' in added_tokens_decoder is no id",
                                    key);
      }
      INGOT_TRY(check(id, decoder->size(), "tokenizer_config.json"));
      AddedToken token;
      token.content = string_field_or(value, "content", "");
      token.single_word = bool_field_or(value, "single_word", false);
      token.lstrip = bool_field_or(value, "lstrip", false);
      token.rstrip = bool_field_or(value, "rstrip", false);
      token.special = bool_field_or(value, "special", false);
      token.normalized = bool_field_or(value, "normalized", !token.special);
      tokens.insert_or_assign(static_cast<TokenId>(id), std::move(token));
    }
  }
  return std::vector<std::pair<TokenId, AddedToken>>(tokens.begin(), tokens.end());
}

}  // namespace ingot::tok
