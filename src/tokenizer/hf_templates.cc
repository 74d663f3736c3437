// SPDX-License-Identifier: Apache-2.0
// Reads the post_processor of a tokenizer.json: what goes around one text, and around two.
#include <limits>
#include <string>
#include <utility>

#include "base/limits.h"
#include "tokenizer/hf_components.h"
#include "tokenizer/hf_fields.h"

namespace ingot::tok {

namespace {

using Kind = TemplatePart::Kind;
using Parts = std::vector<TemplatePart>;

Result<TokenId> checked_id(const Json& json, size_t vocab_size, std::string_view source) {
  if (!json.is_number_integer()) {
    return Status::invalid_data("{}: an id in the post_processor is no whole number", source);
  }
  const auto id = json.get<int64_t>();
  if (id < 0 || static_cast<uint64_t>(id) >= vocab_size) {
    return Status::invalid_data(
        "{}: the post_processor names id {}, but the vocabulary has {} tokens", source, id,
        vocab_size);
  }
  return static_cast<TokenId>(id);
}

// ["[SEP]", 102]
Result<TemplatePart> read_special_pair(const Json& json, const char* key, size_t vocab_size,
                                       std::string_view source) {
  const Json* pair = find_field(json, key);
  if (pair == nullptr || !pair->is_array() || pair->size() != 2 || !(*pair)[0].is_string()) {
    return Status::invalid_data("{}: '{}' must be a token and its id", source, key);
  }
  INGOT_TRY(const TokenId id, checked_id((*pair)[1], vocab_size, source));
  return TemplatePart{Kind::kSpecial, {id}, {(*pair)[0].get_ref<const std::string&>()}};
}

Result<TemplatePart> read_special_token(const Json* specials, const std::string& name,
                                        size_t vocab_size, std::string_view source) {
  const Json* special = specials == nullptr ? nullptr : find_field(*specials, name.c_str());
  const Json* ids = special == nullptr ? nullptr : find_field(*special, "ids");
  if (ids == nullptr || !ids->is_array()) {
    return Status::invalid_data("{}: the post_processor uses '{}', which its special_tokens lack",
                                source, name);
  }
  TemplatePart part{Kind::kSpecial};
  for (const Json& id : *ids) {
    INGOT_TRY(const TokenId checked, checked_id(id, vocab_size, source));
    part.ids.push_back(checked);
  }
  if (const Json* tokens = find_field(*special, "tokens");
      tokens != nullptr && tokens->is_array()) {
    for (const Json& token : *tokens) {
      if (token.is_string()) part.spellings.push_back(token.get_ref<const std::string&>());
    }
  }
  return part;
}

TemplatePart with_type(TemplatePart part, int32_t type_id) {
  part.type_id = type_id;
  return part;
}

// {"Sequence": {"id": "A", "type_id": 0}} or {"SpecialToken": {"id": "[CLS]", "type_id": 0}}
Result<TemplatePart> read_part(const Json& item, const Json* specials, size_t vocab_size,
                               std::string_view source) {
  const Json* sequence = find_field(item, "Sequence");
  const Json* special = sequence == nullptr ? find_field(item, "SpecialToken") : nullptr;
  const Json* fields = sequence != nullptr ? sequence : special;
  if (fields == nullptr) {
    return Status::invalid_data("{}: a part of a template is neither Sequence nor SpecialToken",
                                source);
  }
  TemplatePart part;
  if (sequence != nullptr) {
    part.kind = string_field_or(*sequence, "id", "A") == "B" ? Kind::kSecond : Kind::kFirst;
  } else {
    INGOT_TRY(const std::string name, string_field(*special, "id", source));
    INGOT_TRY(part, read_special_token(specials, name, vocab_size, source));
  }
  int64_t type_id = 0;
  if (find_field(*fields, "type_id") != nullptr) {
    INGOT_TRY(type_id,
              integer_field(*fields, "type_id", std::numeric_limits<int32_t>::max(), source));
  }
  part.type_id = static_cast<int32_t>(type_id);
  return part;
}

Result<Parts> read_parts(const Json& json, const char* key, size_t vocab_size,
                         std::string_view source) {
  const Json* list = find_field(json, key);
  if (list == nullptr || !list->is_array()) {
    return Status::invalid_data("{}: TemplateProcessing needs the list '{}'", source, key);
  }
  if (list->size() > limits::kPipelineSteps) {
    return Status::resource_exhausted("{}: a template of {} parts; at most {} are allowed", source,
                                      list->size(), limits::kPipelineSteps);
  }
  Parts parts;
  for (const Json& item : *list) {
    INGOT_TRY(TemplatePart part,
              read_part(item, find_field(json, "special_tokens"), vocab_size, source));
    parts.push_back(std::move(part));
  }
  return parts;
}

Result<Template> read_template(const Json& json, size_t vocab_size, std::string_view source) {
  Template out;
  INGOT_TRY(out.single, read_parts(json, "single", vocab_size, source));
  if (find_field(json, "pair") != nullptr) {
    INGOT_TRY(out.pair, read_parts(json, "pair", vocab_size, source));
  } else {
    out.pair = {{Kind::kFirst, {}, {}, 0}, {Kind::kSecond, {}, {}, 1}};
  }
  out.second_begin = out.pair.size();  // the two texts are one from here on
  return out;
}

// [CLS] A [SEP] B [SEP], with types 0 and 1.
Template bert_template(const TemplatePart& cls, const TemplatePart& sep) {
  return {.single = {cls, {Kind::kFirst}, sep},
          .pair = {with_type(cls, 0),
                   {Kind::kFirst},
                   with_type(sep, 0),
                   {Kind::kSecond},
                   with_type(sep, 1)},
          .second_begin = 3};
}

// <s> A </s> </s> B </s>, all of type 0.
Template roberta_template(const TemplatePart& cls, const TemplatePart& sep) {
  return {.single = {cls, {Kind::kFirst}, sep},
          .pair = {with_type(cls, 0), with_type({Kind::kFirst}, 0), with_type(sep, 0),
                   with_type(sep, 0), with_type({Kind::kSecond}, 0), with_type(sep, 0)},
          .second_begin = 3};
}

}  // namespace

Result<std::vector<Template>> read_templates(const Json& json, size_t vocab_size,
                                             std::string_view source) {
  INGOT_TRY(const std::vector<const Json*> steps,
            flatten_steps(json, "processors", "post_processor", source));
  std::vector<Template> out;
  for (const Json* step : steps) {
    const std::string type = type_of(*step);
    if (type == "ByteLevel") continue;  // moves offsets only
    if (type == "TemplateProcessing") {
      INGOT_TRY(Template a_template, read_template(*step, vocab_size, source));
      out.push_back(std::move(a_template));
    } else if (type == "BertProcessing" || type == "RobertaProcessing") {
      INGOT_TRY(const TemplatePart cls, read_special_pair(*step, "cls", vocab_size, source));
      INGOT_TRY(const TemplatePart sep, read_special_pair(*step, "sep", vocab_size, source));
      out.push_back(type == "BertProcessing" ? bert_template(cls, sep)
                                             : roberta_template(cls, sep));
    } else {
      return unknown_step(*step, "post_processor", source);
    }
  }
  return out;
}

}  // namespace ingot::tok
