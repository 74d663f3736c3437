// SPDX-License-Identifier: Apache-2.0
#include "cli/text_width.h"

#include <utf8proc.h>

#include <algorithm>

#include "base/utf8.h"

namespace ingot {

size_t cluster_size(std::string_view text) {
  utf8::Decoded current = utf8::decode(text);
  size_t size = current.size;
  utf8proc_int32_t state = 0;
  while (current.is_valid && size < text.size()) {
    const utf8::Decoded next = utf8::decode(text.substr(size));
    if (!next.is_valid ||
        utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(current.code_point),
                                         static_cast<utf8proc_int32_t>(next.code_point), &state))
      break;
    size += next.size;
    current = next;
  }
  return size;
}

// Clusters are only defined from the left, and always end at a newline: scan that line.
size_t cluster_before(std::string_view text, size_t position) {
  if (position == 0) return 0;
  const size_t newline = position >= 2 ? text.rfind('\n', position - 2) : std::string_view::npos;
  size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
  while (true) {
    const size_t next = begin + cluster_size(text.substr(begin));
    if (next >= position) return begin;
    begin = next;
  }
}

int cluster_columns(std::string_view cluster) {
  if (cluster == "\t") return kTabColumns;
  int columns = 0;
  while (!cluster.empty()) {
    const utf8::Decoded decoded = utf8::decode(cluster);
    const auto c = static_cast<utf8proc_int32_t>(decoded.code_point);
    // The widest part decides: a flag or a family is one picture of two columns.
    columns = std::max(columns, utf8proc_charwidth(c));
    if (c == 0xFE0F) columns = 2;  // shown as an emoji
    cluster.remove_prefix(decoded.size);
  }
  return columns;
}

int text_columns(std::string_view text) {
  int columns = 0;
  while (!text.empty()) {
    const size_t size = cluster_size(text);
    columns += cluster_columns(text.substr(0, size));
    text.remove_prefix(size);
  }
  return columns;
}

}  // namespace ingot
