// SPDX-License-Identifier: Apache-2.0
// What turns text into tokens and messages into a prompt: a model's tokenizer, chat template and
// the spelling of its bos and eos. Loaded without touching any weight, so a folder with tokenizer
// files alone serves.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "formats/checkpoint.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/tokenizer.h"

namespace ingot {

struct TextSide {
  std::shared_ptr<const Tokenizer> tokenizer;  // null when the model has none
  Status tokenizer_status;                     // why it is null
  std::optional<ChatTemplateSource> chat_template;
  Status template_status;  // why there is none
  std::string bos_token;   // as text, for templates; empty when there is none
  std::string eos_token;
};

// Of a path: a GGUF file, a model folder, a folder with tokenizer files only (or one of those
// files), or "default". `with_tools` prefers a template made for tools where there are several.
Result<TextSide> load_text_side(std::string_view path, bool with_tools = false);
TextSide text_side_of(const Checkpoint& checkpoint, bool with_tools = false);

}  // namespace ingot
