// SPDX-License-Identifier: Apache-2.0
#include "cli/style.h"

#include <fmt/core.h>

#include "cli/environment.h"
#include "cli/output.h"

namespace ingot {
namespace {

std::string_view code_of(Style style) {
  switch (style) {
    case Style::kDim:
      return "2";
    case Style::kBold:
      return "1";
    case Style::kPrompt:
      return "1;36";
    case Style::kError:
      return "1;31";
  }
  return "0";
}

}  // namespace

std::string styled(std::string_view text, Style style, int fd) {
  if (!is_terminal(fd) || !environment::wants_color()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code_of(style), text);
}

}  // namespace ingot
