// SPDX-License-Identifier: Apache-2.0
// Tokens that are found in the text as such, before the model sees it: <|im_start|>, <mask> and the
// like. The first step of encoding, and again after normalization for those that want to be found
// there.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tokenizer/normalizers.h"
#include "tokenizer/string_matcher.h"
#include "tokenizer/vocabulary.h"

namespace ingot::tok {

struct AddedToken {
  std::string content = {};
  bool single_word = false;  // only where no word character is next to it
  bool lstrip = false;       // takes the white space on its left along
  bool rstrip = false;
  bool normalized = true;  // is found in the normalized text, in its own normalized form
  bool special = false;    // may be skipped in decoding, and left alone in encoding
};

// A stretch of the text: a token, or text still to be encoded (id < 0).
struct Segment {
  size_t begin;
  size_t end;
  TokenId id;
};

// Of tokens that are looked for in one form (different spellings that normalize alike) the one with
// the largest id is found; the reference leaves that to the order of a hash table, which changes
// from run to run. One whose form is empty is never found; the reference does not come to an end
// there. Immutable after load; thread-safe then.
class AddedTokens {
 public:
  // Gives each token the id its text has in the vocabulary, else the next one from `first_new_id`
  // on.
  Status add(std::vector<AddedToken> tokens, const std::vector<NormalizerPtr>& normalizers,
             size_t first_new_id, const Vocabulary& vocabulary, std::string_view source);
  // For vocabularies that already know the ids.
  Status add_with_ids(std::vector<std::pair<TokenId, AddedToken>> tokens,
                      const std::vector<NormalizerPtr>& normalizers, std::string_view source);

  std::vector<Segment> split_raw(std::string_view text, bool parse_special) const {
    return split(raw_, text, parse_special);
  }
  std::vector<Segment> split_normalized(std::string_view text, bool parse_special) const {
    return split(normalized_, text, parse_special);
  }

  std::optional<TokenId> find(std::string_view content) const;
  // The token's content, or null if the id is not an added token's.
  const std::string* content(TokenId id) const;
  // One more than the largest id.
  size_t end_id() const {
    return entries_.empty() ? 0 : static_cast<size_t>(entries_.rbegin()->first) + 1;
  }
  bool is_special(TokenId id) const;
  // How the token enters decoding: its normalized form where that differs. Null if it is not added.
  const std::string* decoded_form(TokenId id) const;
  // Whether skipping special tokens drops it: the reference asks by the form above.
  bool is_skipped(TokenId id) const;

 private:
  struct Entry {
    AddedToken token;
    std::string form;  // what is looked for in the text
  };
  Status insert(TokenId id, AddedToken token, const std::vector<NormalizerPtr>& normalizers);
  void build_matchers();
  std::vector<Segment> split(const StringMatcher& matcher, std::string_view text,
                             bool parse_special) const;

  std::map<TokenId, Entry> entries_;
  std::map<std::string, TokenId, std::less<>> ids_;  // by content
  std::set<std::string, std::less<>> specials_;
  StringMatcher raw_;
  StringMatcher normalized_;
  size_t total_bytes_ = 0;
};

}  // namespace ingot::tok
