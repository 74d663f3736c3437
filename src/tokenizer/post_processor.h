// SPDX-License-Identifier: Apache-2.0
// The last step of encoding: the tokens that a model wants around every text ([CLS] ... [SEP], a
// leading <s>), as templates.
#pragma once

#include <string>
#include <vector>

#include "tokenizer/models/token_model.h"

namespace ingot::tok {

// One part of a template: the text's own tokens, or tokens with the spelling the file gives them.
struct TemplatePart {
  bool is_text = false;
  std::vector<TokenId> ids;
  std::vector<std::string> spellings;
};

using Template = std::vector<TemplatePart>;

// Applies the templates one after the other. Without `add_special` only the text's own parts are
// kept.
void apply_templates(const std::vector<Template>& templates, bool add_special, TokenSink& tokens);

}  // namespace ingot::tok
