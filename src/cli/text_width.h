// SPDX-License-Identifier: Apache-2.0
// Text as a terminal shows it: characters a person counts (grapheme clusters) and their columns.
#pragma once

#include <cstddef>
#include <string_view>

namespace ingot {

// Bytes of the first cluster of `text`, which must not be empty. Invalid bytes are clusters of
// their own.
size_t cluster_size(std::string_view text);
// Where the cluster that ends at `position` begins; 0 at the start.
size_t cluster_before(std::string_view text, size_t position);
// Columns of one cluster: 0, 1 or 2; a tab counts as kTabColumns.
inline constexpr int kTabColumns = 4;
int cluster_columns(std::string_view cluster);
// Columns of a text without newlines.
int text_columns(std::string_view text);

}  // namespace ingot
