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

bool is_identity(const Template& parts, bool add_special) {
  size_t texts = 0;
  for (const TemplatePart& part : parts) {
    if (part.is_text) {
      ++texts;
    } else if (add_special) {
      return false;
    }
  }
  return texts == 1;
}

}  // namespace

void apply_templates(const std::vector<Template>& templates, bool add_special, TokenSink& tokens) {
  for (const Template& parts : templates) {
    if (is_identity(parts, add_special)) continue;
    TokenSink out;
    out.wants_surfaces = tokens.wants_surfaces;
    for (const TemplatePart& part : parts) {
      if (part.is_text) {
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

}  // namespace ingot::tok
