// SPDX-License-Identifier: Apache-2.0
// The last step of encoding: the tokens that a model wants around every text ([CLS] ... [SEP], a
// leading <s>), as templates.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tokenizer/models/token_model.h"

namespace ingot::tok {

// One part of a template: a text's own tokens, or tokens with the spelling the file gives them.
struct TemplatePart {
  enum class Kind { kSpecial, kFirst, kSecond };  // kSecond: the second text of a pair
  Kind kind = Kind::kFirst;
  std::vector<TokenId> ids = {};
  std::vector<std::string> spellings = {};
  std::optional<int32_t> type_id = {};  // in a pair; a text without one keeps those it has

  bool is_text() const { return kind != Kind::kSpecial; }
};

// What goes around one text, and around two. A pair stays two texts for the next template: the
// parts from `second_begin` on are the second.
struct Template {
  std::vector<TemplatePart> single = {};
  std::vector<TemplatePart> pair = {};
  size_t second_begin = 0;
};

// Puts bos before every text and eos behind it, where wanted; in a pair, `second_bos` before the
// second.
Template bos_eos_template(std::optional<TokenId> bos, std::optional<TokenId> eos,
                          std::optional<TokenId> second_bos);

// Applies the templates one after the other. Without `add_special` only the text's own parts are
// kept.
void apply_templates(const std::vector<Template>& templates, bool add_special, TokenSink& tokens);

// The same for two texts.
PairEncoding apply_pair_templates(const std::vector<Template>& templates, bool add_special,
                                  std::vector<TokenId> first, std::vector<TokenId> second);

}  // namespace ingot::tok
