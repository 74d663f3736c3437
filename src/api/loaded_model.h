// SPDX-License-Identifier: Apache-2.0
// A path becomes a model one can talk to: weights, tokenizer, chat template and the sampling its
// makers recommend. The name "default" is the model inside the program.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/sampling.h"
#include "formats/checkpoint.h"
#include "model/model.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/tokenizer.h"

namespace ingot {

// Tokenizer and template of a path: a GGUF file, a model folder, a folder with tokenizer files
// only, or "default". No weights are touched.
struct TextSide {
  std::shared_ptr<const Tokenizer> tokenizer;  // null when the model has none
  Status tokenizer_status;                     // why it is null
  std::optional<ChatTemplateSource> chat_template;
  std::string bos_token;  // as text, for templates; empty when there is none
  std::string eos_token;
};
Result<TextSide> load_text_side(std::string_view path);

struct LoadedModel {
  std::string name;  // what the user typed
  std::shared_ptr<const Checkpoint> checkpoint;
  std::shared_ptr<const Model> model;
  TextSide text;
  SamplingParams sampling;  // defaults: generation_config.json, GGUF's general.sampling.*, or ours
  std::vector<TokenId>
      stop_ids;  // every id that ends an answer: tokenizer, config and template's end of turn
};
Result<LoadedModel> load_model(std::string_view path, const ModelOptions& options);

// Opens the weights only (inspect): no kernels are chosen, nothing is checked beyond the container.
Result<std::shared_ptr<const Checkpoint>> open_checkpoint(std::string_view path);

// The embedded default model, a GGUF file.
std::span<const std::byte> default_model_bytes();

}  // namespace ingot
