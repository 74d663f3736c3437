// SPDX-License-Identifier: Apache-2.0
// What a conversion needs of a tokenizer.json: the tables as they stand in the file. How text is
// encoded is the tokenizer's affair (src/tokenizer), which is asked where the two must agree.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace ingot {

struct TokenizerJson {
  struct Added {
    int64_t id = 0;
    std::string content;
    bool is_special = false;
    bool has_flags = false;  // strips its surroundings, or only stands alone
  };
  std::string type;                 // "BPE", "Unigram", "WordPiece"
  std::vector<std::string> tokens;  // by id; empty where there is none
  std::vector<double> scores;       // of Unigram
  std::vector<std::pair<std::string, std::string>> merges;
  std::vector<Added> added;
  std::optional<std::string> unk_token;
  std::optional<int64_t> unk_id;
  bool byte_fallback = false;
  bool ignore_merges = false;
  Json normalizer;
  Json pre_tokenizer;
};

Result<TokenizerJson> read_tokenizer_tables(std::string_view text, std::string_view source);

}  // namespace ingot
