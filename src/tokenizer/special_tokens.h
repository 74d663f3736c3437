// SPDX-License-Identifier: Apache-2.0
// Which tokens begin, end and pad a text: from the small files that lie beside a tokenizer
// (tokenizer_config.json, special_tokens_map.json, generation_config.json, config.json).
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/status.h"
#include "tokenizer/pipeline.h"

namespace ingot::tok {

// Null where a file is missing.
struct FolderFiles {
  Json tokenizer_config;
  Json special_tokens_map;
  Json generation_config;
  Json config;
  Json added_tokens;
};

Result<FolderFiles> read_folder_files(const std::filesystem::path& folder);
// Fills parts.special; what the files do not say stays as it is. Ids are checked.
Status apply_special_tokens(const FolderFiles& files, PipelineParts& parts);
// The added tokens that the files list with their ids, for tokenizers that do not list them
// themselves.
Result<std::vector<std::pair<TokenId, AddedToken>>> listed_added_tokens(const FolderFiles& files,
                                                                        size_t vocab_size);

std::optional<TokenId> find_token(const PipelineParts& parts, std::string_view text);
size_t vocab_size_of(const PipelineParts& parts);
// Appends without repeating.
void add_eos(Tokenizer::SpecialTokens& special, TokenId id);

}  // namespace ingot::tok
