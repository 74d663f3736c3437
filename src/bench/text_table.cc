// SPDX-License-Identifier: Apache-2.0
#include "bench/text_table.h"

#include <fmt/core.h>

#include <algorithm>

namespace ingot {
namespace {

// Code points: our tables hold nothing wider or narrower than one cell.
size_t width(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string padded(const std::string& text, size_t columns, bool is_left) {
  const std::string space(columns - std::min(columns, width(text)), ' ');
  return is_left ? text + space : space + text;
}

}  // namespace

std::string TextTable::to_text() const {
  std::vector<size_t> widths(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    widths[i] = width(columns[i]);
    for (const std::vector<std::string>& row : rows)
      if (i < row.size()) widths[i] = std::max(widths[i], width(row[i]));
  }
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text;
    for (size_t i = 0; i < widths.size(); ++i) {
      if (i > 0) text += "  ";
      text += padded(i < cells.size() ? cells[i] : "", widths[i], i == 0);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  };
  std::string text = title.empty() ? "" : title + "\n";
  text += line(columns);
  for (const std::vector<std::string>& row : rows)
    text += line(row);
  return text;
}

std::string TextTable::to_html() const {
  std::string text = fmt::format("<table>\n<caption>{}</caption>\n<tr>", xml_escaped(title));
  for (const std::string& column : columns)
    text += fmt::format("<th>{}</th>", xml_escaped(column));
  text += "</tr>\n";
  for (const std::vector<std::string>& row : rows) {
    text += "<tr>";
    for (const std::string& cell : row)
      text += fmt::format("<td>{}</td>", xml_escaped(cell));
    text += "</tr>\n";
  }
  return text + "</table>\n";
}

std::string xml_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? ' ' : c;
    }
  }
  return out;
}

}  // namespace ingot
