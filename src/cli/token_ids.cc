// SPDX-License-Identifier: Apache-2.0
#include "cli/token_ids.h"

#include <fmt/format.h>

#include <charconv>

namespace ingot {
namespace {

constexpr std::string_view kSpace = " \t\r\n";
constexpr std::string_view kSeparators = " \t\r\n,";

std::string_view without_space(std::string_view text) {
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

// The list inside {"ids": [...]} (what `tokenize --json` prints) or inside [...].
std::string_view list_inside(std::string_view text) {
  text = without_space(text);
  if (text.starts_with('{')) {
    const size_t key = text.find("\"ids\"");
    if (key == std::string_view::npos) return text;
    const size_t begin = text.find('[', key);
    const size_t end = text.find(']', key);
    if (begin == std::string_view::npos || end == std::string_view::npos || end < begin)
      return text;
    return text.substr(begin + 1, end - begin - 1);
  }
  if (text.starts_with('[') && text.ends_with(']')) return text.substr(1, text.size() - 2);
  return text;
}

}  // namespace

Result<std::vector<TokenId>> parse_token_ids(std::string_view text, std::string_view source) {
  std::vector<TokenId> ids;
  std::string_view rest = list_inside(text);
  while (true) {
    const size_t begin = rest.find_first_not_of(kSeparators);
    if (begin == std::string_view::npos) return ids;
    rest.remove_prefix(begin);
    const std::string_view word = rest.substr(0, rest.find_first_of(kSeparators));
    TokenId id = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc() || end != word.data() + word.size() || id < 0)
      return Status::invalid_argument("{}: '{}' is not a token id; write them as 1,5,9", source,
                                      word.substr(0, 40));
    ids.push_back(id);
    rest.remove_prefix(word.size());
  }
}

std::string join_token_ids(std::span<const TokenId> ids) {
  return fmt::format("{}", fmt::join(ids, " "));
}

}  // namespace ingot
