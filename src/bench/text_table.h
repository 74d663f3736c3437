// SPDX-License-Identifier: Apache-2.0
// A table of results, for a terminal and for a page.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ingot {

// Plain data. The first column is names, flush left; all others are numbers, flush right.
struct TextTable {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;

  std::string to_text() const;
  std::string to_html() const;
};

// For text between tags and inside attributes. Control characters, which XML has no way to write,
// become spaces.
std::string xml_escaped(std::string_view text);

}  // namespace ingot
