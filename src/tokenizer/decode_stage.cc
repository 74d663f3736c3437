// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/decode_stage.h"

namespace ingot::tok {

void replace_literal(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty() || text.find(from) == std::string::npos) return;
  std::string out;
  size_t at = 0;
  for (size_t found = text.find(from); found != std::string::npos; found = text.find(from, at)) {
    out.append(text, at, found - at);
    out += to;
    at = found + from.size();
  }
  out.append(text, at);
  text = std::move(out);
}

}  // namespace ingot::tok
