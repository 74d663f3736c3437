// SPDX-License-Identifier: Apache-2.0
#include "cli/help_formatter.h"

#include <utility>

namespace ingot {

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  const std::string type = option->get_type_name();
  if (option->get_type_size() == 0 || type.empty()) return {};
  return " " + type.substr(0, type.find(':'));  // the rest describes its checks
}

std::string HelpFormatter::make_group(std::string group, bool is_positional,
                                      std::vector<const CLI::Option*> options) const {
  // The caller puts an empty line between groups, but none before the first.
  const bool is_first = is_positional || group == "Options";
  std::string text = (is_first ? "\n" : "") + std::move(group) + ":\n";
  for (const CLI::Option* option : options)
    text += make_option(option, is_positional);
  return text;
}

}  // namespace ingot
