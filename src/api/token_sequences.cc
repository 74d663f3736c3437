// SPDX-License-Identifier: Apache-2.0
#include "api/token_sequences.h"

#include <algorithm>

#include "base/limits.h"

namespace ingot {
namespace {

constexpr size_t kTailTokens = 20;  // of a breaker's rest; longer rests are cut
constexpr size_t kBreakerBytes = 40;
constexpr EncodeOptions kPlainText{.add_special = false, .parse_special = false};

}  // namespace

Result<std::vector<std::vector<TokenId>>> bad_word_ids(const Tokenizer& tokenizer,
                                                       std::span<const std::string> words) {
  std::vector<std::vector<TokenId>> list;
  for (const std::string& word : words) {
    INGOT_TRY(std::vector<TokenId> plain, tokenizer.encode(word, kPlainText));
    if (plain.empty()) return Status::invalid_argument("bad_words: '{}' has no tokens", word);
    INGOT_TRY(std::vector<TokenId> spaced, tokenizer.encode(" " + word, kPlainText));
    // Where the space stays a token of its own, the plain spelling covers both.
    if (spaced.size() == plain.size() && spaced.front() != plain.front())
      list.push_back(std::move(spaced));
    list.push_back(std::move(plain));
  }
  return list;
}

Result<std::vector<std::vector<TokenId>>> breaker_ids(const Tokenizer& tokenizer,
                                                      std::span<const std::string> breakers) {
  std::vector<std::vector<TokenId>> list;
  for (const std::string& breaker : breakers) {
    if (breaker.empty() || breaker.size() > kBreakerBytes) {
      return Status::invalid_argument("a DRY sequence breaker has {} bytes but must have 1 to {}",
                                      breaker.size(), kBreakerBytes);
    }
    // The tokens of its rest, for each length of the beginning.
    std::vector<std::vector<TokenId>> rests(breaker.size());
    for (size_t begun = 1; begun < breaker.size(); ++begun) {
      INGOT_TRY(rests[begun], tokenizer.encode(breaker.substr(begun), kPlainText));
      rests[begun].resize(std::min(rests[begun].size(), kTailTokens));
    }
    for (size_t i = 0; i < tokenizer.vocab_size(); ++i) {
      const auto id = static_cast<TokenId>(i);
      const std::string text = tokenizer.decode(std::span(&id, 1));
      if (text.find(breaker) != std::string::npos) {
        list.push_back({id});
        continue;
      }
      for (size_t begun = 1; begun < breaker.size(); ++begun) {
        if (!text.ends_with(breaker.substr(0, begun)) || rests[begun].empty()) continue;
        list.push_back({id});
        list.back().insert(list.back().end(), rests[begun].begin(), rests[begun].end());
      }
    }
    if (list.size() > limits::kSamplingBreakers) {
      return Status::invalid_argument("the DRY sequence breaker '{}' is in too many tokens",
                                      breaker);
    }
  }
  std::ranges::sort(list);
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

}  // namespace ingot
