// SPDX-License-Identifier: Apache-2.0
// The heart of a tokenizer: turns one piece of text into ids of its vocabulary. One file per kind:
// BPE by merges, BPE by scores, Unigram, WordPiece, WordLevel, the longest match, the least cost.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/vocabulary.h"

namespace ingot::tok {

// Where a model puts its ids. A token that stands for text its vocabulary does not hold (an unknown
// word) also leaves that text, when the caller wants to see it.
struct TokenSink {
  std::vector<TokenId> ids;
  bool wants_surfaces = false;
  std::vector<std::pair<size_t, std::string>> surfaces;  // index in `ids`, text

  void add(TokenId id) { ids.push_back(id); }
  void add(TokenId id, std::string_view surface) {
    if (wants_surfaces) surfaces.emplace_back(ids.size(), surface);
    ids.push_back(id);
  }
};

// Immutable; thread-safe. The vocabulary outlives the model.
class TokenModel {
 public:
  virtual ~TokenModel() = default;
  // `piece` is not empty and valid UTF-8.
  virtual Status encode(std::string_view piece, TokenSink& out) const = 0;
};

using TokenModelPtr = std::unique_ptr<const TokenModel>;

}  // namespace ingot::tok
