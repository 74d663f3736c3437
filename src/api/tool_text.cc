// SPDX-License-Identifier: Apache-2.0
#include "api/tool_text.h"

#include <algorithm>
#include <utility>

namespace ingot {

bool ToolText::is_known(std::string_view name) const {
  return std::ranges::find(options_.names, name) != options_.names.end();
}

void ToolText::text(std::string_view text) {
  if (text.empty()) return;
  is_fresh_ = false;
  append_piece(*out_, {.kind = AnswerPiece::Kind::kContent,
                       .text = std::exchange(blanks_, {}) + std::string(text)});
}

void ToolText::call(const std::string& name) {
  blanks_.clear();
  append_piece(*out_, {.kind = AnswerPiece::Kind::kCall,
                       .text = name,
                       .call = calls_++,
                       .id = new_call_id(options_.format)});
}

void ToolText::arguments(std::string text) {
  if (text.empty()) return;
  append_piece(
      *out_, {.kind = AnswerPiece::Kind::kArguments, .text = std::move(text), .call = calls_ - 1});
}

void ToolText::finish() {
  if (calls_ == 0 && !blanks_.empty()) text(std::exchange(blanks_, {}));
}

}  // namespace ingot
