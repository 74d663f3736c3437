// SPDX-License-Identifier: Apache-2.0
// A path becomes a model one can talk to: weights, tokenizer, chat template and the sampling its
// makers recommend. The name "default" is the model inside the program.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/text_side.h"
#include "base/status.h"
#include "engine/sampling.h"
#include "formats/checkpoint.h"
#include "model/model.h"

namespace ingot {

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

// The embedded default model, a GGUF file; empty when the program was built without one.
std::span<const std::byte> default_model_bytes();

}  // namespace ingot
