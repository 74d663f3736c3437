// SPDX-License-Identifier: Apache-2.0
// The "model" object of a tokenizer.json, which holds nearly all of the file: vocabulary and merges
// are streamed straight into their tables.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/json_reader.h"
#include "base/status.h"
#include "tokenizer/models/token_model.h"
#include "tokenizer/vocabulary.h"

namespace ingot::tok {

struct HfModel {
  TokenModelPtr model;
  std::shared_ptr<Vocabulary> vocabulary;
  std::optional<TokenId> unk;
  size_t first_new_id = 0;  // where ids of added tokens begin
};

// `reader` stands before the object; `document` is the text it reads.
Result<HfModel> read_hf_model(JsonReader& reader, std::string_view document,
                              std::string_view source);

}  // namespace ingot::tok
