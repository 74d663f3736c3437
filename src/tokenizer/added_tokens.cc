// SPDX-License-Identifier: Apache-2.0
#include "tokenizer/added_tokens.h"

#include <algorithm>

#include "base/limits.h"
#include "base/utf8.h"
#include "tokenizer/unicode.h"

namespace ingot::tok {

Status AddedTokens::insert(TokenId id, AddedToken token,
                           const std::vector<NormalizerPtr>& normalizers) {
  NormalizedText form{token.content};
  if (token.normalized) {
    for (const NormalizerPtr& normalizer : normalizers)
      INGOT_TRY(normalizer->apply(form));
  }
  total_bytes_ += form.text.size();
  if (token.special) specials_.insert(token.content);
  ids_.insert_or_assign(token.content, id);
  entries_.insert_or_assign(id, Entry{std::move(token), std::move(form.text)});
  return Status::ok();
}

Status AddedTokens::add(std::vector<AddedToken> tokens,
                        const std::vector<NormalizerPtr>& normalizers, size_t first_new_id,
                        const Vocabulary& vocabulary, std::string_view source) {
  if (tokens.size() > limits::kAddedTokens) {
    return Status::resource_exhausted("{}: {} added tokens; at most {} are allowed", source,
                                      tokens.size(), limits::kAddedTokens);
  }
  auto next_id = static_cast<int64_t>(first_new_id);
  for (AddedToken& token : tokens) {
    if (token.content.empty()) continue;
    if (token.content.size() > limits::kTokenBytes) {
      return Status::invalid_data("{}: an added token has {} bytes; at most {} are allowed", source,
                                  token.content.size(), limits::kTokenBytes);
    }
    std::optional<TokenId> id = find(token.content);
    if (!id) id = vocabulary.find(token.content);
    if (!id) id = static_cast<TokenId>(next_id++);
    INGOT_TRY(insert(*id, std::move(token), normalizers));
    if (total_bytes_ > limits::kAddedTokensBytes) {
      return Status::resource_exhausted("{}: the added tokens exceed {} bytes", source,
                                        limits::kAddedTokensBytes);
    }
  }
  build_matchers();
  return Status::ok();
}

Status AddedTokens::add_with_ids(std::vector<std::pair<TokenId, AddedToken>> tokens,
                                 const std::vector<NormalizerPtr>& normalizers,
                                 std::string_view source) {
  if (tokens.size() > limits::kAddedTokens) {
    return Status::resource_exhausted("{}: {} added tokens; at most {} are allowed", source,
                                      tokens.size(), limits::kAddedTokens);
  }
  for (std::pair<TokenId, AddedToken>& entry : tokens) {
    if (entry.second.content.empty()) continue;
    INGOT_TRY(insert(entry.first, std::move(entry.second), normalizers));
    if (total_bytes_ > limits::kAddedTokensBytes) {
      return Status::resource_exhausted("{}: the added tokens exceed {} bytes", source,
                                        limits::kAddedTokensBytes);
    }
  }
  build_matchers();
  return Status::ok();
}

void AddedTokens::build_matchers() {
  std::vector<std::pair<std::string_view, uint32_t>> raw;
  std::vector<std::pair<std::string_view, uint32_t>> normalized;
  for (const auto& [id, entry] : entries_) {
    // Half a character cannot be found in text without cutting another one apart.
    if (!utf8::is_valid(entry.form)) continue;
    (entry.token.normalized ? normalized : raw).emplace_back(entry.form, static_cast<uint32_t>(id));
  }
  raw_ = StringMatcher(raw);
  normalized_ = StringMatcher(normalized);
}

std::vector<Segment> AddedTokens::split(const StringMatcher& matcher, std::string_view text,
                                        bool parse_special) const {
  std::vector<Segment> segments;
  size_t covered = 0;
  for (const StringMatcher::Match& match : matcher.find_all(text)) {
    const auto id = static_cast<TokenId>(match.value);
    const AddedToken& token = entries_.find(id)->second.token;
    if (!parse_special && specials_.contains(token.content)) continue;
    if (token.single_word) {
      const bool is_open =
          is_word(char_before(text, match.begin).code_point) ||
          (match.end < text.size() && is_word(char_at(text, match.end).code_point));
      if (is_open) continue;
    }
    size_t begin = match.begin;
    size_t end = match.end;
    if (token.lstrip) {
      while (begin > covered && is_space(char_before(text, begin).code_point)) {
        begin -= char_before(text, begin).size;
      }
      begin = std::max(begin, covered);
    }
    if (token.rstrip) {
      while (end < text.size() && is_space(char_at(text, end).code_point))
        end += char_at(text, end).size;
    }
    if (covered < begin) segments.push_back({covered, begin, -1});
    // A token within white space that the last one took along has nothing left to stand for.
    if (begin < end) segments.push_back({begin, end, id});
    covered = end;
  }
  if (covered < text.size()) segments.push_back({covered, text.size(), -1});
  return segments;
}

std::optional<TokenId> AddedTokens::find(std::string_view content) const {
  const auto found = ids_.find(content);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

const std::string* AddedTokens::content(TokenId id) const {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : &found->second.token.content;
}

bool AddedTokens::is_special(TokenId id) const {
  const auto found = entries_.find(id);
  return found != entries_.end() && specials_.contains(found->second.token.content);
}

const std::string* AddedTokens::decoded_form(TokenId id) const {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : &found->second.form;
}

bool AddedTokens::is_skipped(TokenId id) const {
  const std::string* form = decoded_form(id);
  return form != nullptr && specials_.contains(*form);
}

}  // namespace ingot::tok
