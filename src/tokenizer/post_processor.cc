// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/post_processor.h"

#include <utility>

namespace ingot::tok {

namespace {

void append(const TokenSink& from, TokenSink& to) {
  for (const auto& [index, surface] : from.surfaces) {
    to.surfaces.emplace_back(to.ids.size() + index, surface);
  }
  to.ids.insert(to.ids.end(), from.ids.begin(), from.ids.end());
}

bool is_identity(const std::vector<TemplatePart>& parts, bool add_special) {
  size_t texts = 0;
  for (const TemplatePart& part : parts) {
    if (part.is_text()) {
      ++texts;
    } else if (add_special) {
      return false;
    }
  }
  return texts == 1;
}

void append(const PairEncoding& from, std::optional<int32_t> type_id, PairEncoding& to) {
  to.ids.insert(to.ids.end(), from.ids.begin(), from.ids.end());
  if (type_id) {
    to.type_ids.insert(to.type_ids.end(), from.ids.size(), *type_id);
  } else {
    to.type_ids.insert(to.type_ids.end(), from.type_ids.begin(), from.type_ids.end());
  }
}

}  // namespace

Template bos_eos_template(std::optional<TokenId> bos, std::optional<TokenId> eos,
                          std::optional<TokenId> second_bos) {
  using enum TemplatePart::Kind;
  Template out;
  const auto special = [](TokenId id, int32_t type_id) {
    return TemplatePart{kSpecial, {id}, {}, type_id};
  };
  if (bos) out.single.push_back(special(*bos, 0));
  out.single.push_back({kFirst});
  if (eos) out.single.push_back(special(*eos, 0));
  out.pair = out.single;
  out.second_begin = out.pair.size();
  if (second_bos) out.pair.push_back(special(*second_bos, 1));
  out.pair.push_back({kSecond});
  if (eos) out.pair.push_back(special(*eos, 1));
  return out;
}

void apply_templates(const std::vector<Template>& templates, bool add_special, TokenSink& tokens) {
  for (const Template& a_template : templates) {
    const std::vector<TemplatePart>& parts = a_template.single;
    if (is_identity(parts, add_special)) continue;
    TokenSink out;
    out.wants_surfaces = tokens.wants_surfaces;
    for (const TemplatePart& part : parts) {
      if (part.is_text()) {
        append(tokens, out);
      } else if (add_special) {
        for (size_t i = 0; i < part.ids.size(); ++i) {
          if (i < part.spellings.size()) {
            out.add(part.ids[i], part.spellings[i]);
          } else {
            out.add(part.ids[i]);
          }
        }
      }
    }
    tokens = std::move(out);
  }
}

PairEncoding apply_pair_templates(const std::vector<Template>& templates, bool add_special,
                                  std::vector<TokenId> first, std::vector<TokenId> second) {
  PairEncoding texts[2];
  texts[0].type_ids.assign(first.size(), 0);
  texts[0].ids = std::move(first);
  texts[1].type_ids.assign(second.size(), 1);
  texts[1].ids = std::move(second);
  for (const Template& a_template : templates) {
    PairEncoding out[2];
    for (size_t i = 0; i < a_template.pair.size(); ++i) {
      const TemplatePart& part = a_template.pair[i];
      PairEncoding& to = out[i < a_template.second_begin ? 0 : 1];
      if (part.is_text()) {
        append(texts[part.kind == TemplatePart::Kind::kFirst ? 0 : 1], part.type_id, to);
      } else if (add_special) {
        to.ids.insert(to.ids.end(), part.ids.begin(), part.ids.end());
        to.type_ids.insert(to.type_ids.end(), part.ids.size(), part.type_id.value_or(0));
      }
    }
    std::swap(texts, out);
  }
  append(texts[1], std::nullopt, texts[0]);
  return std::move(texts[0]);
}

}  // namespace ingot::tok
