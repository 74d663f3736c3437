// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>
#include <string>

#include "tokenizer/models/bpe.h"
#include "tokenizer/models/score_bpe.h"
#include "tokenizer/models/unigram.h"
#include "tokenizer/models/wordpiece.h"

namespace ingot::tok {
namespace {

using ::testing::ElementsAre;

Vocabulary vocabulary_of(const std::vector<std::string>& pieces) {
  Vocabulary vocabulary;
  for (size_t i = 0; i < pieces.size(); ++i) {
    EXPECT_TRUE(vocabulary.insert(pieces[i], static_cast<int64_t>(i), "test"));
  }
  return vocabulary;
}

std::vector<std::string> encoded(const TokenModel& model, const Vocabulary& vocabulary,
                                 std::string_view text) {
  TokenSink sink;
  const Status status = model.encode(text, sink);
  EXPECT_TRUE(status) << status.message();
  std::vector<std::string> pieces;
  for (const TokenId id : sink.ids)
    pieces.emplace_back(vocabulary.piece(id));
  return pieces;
}

// Merges over a small alphabet, in random order.
struct RandomMerges {
  std::vector<std::string> pieces;
  std::vector<std::pair<std::string, std::string>> merges;
};

RandomMerges random_merges(std::mt19937& random, std::string_view alphabet) {
  RandomMerges out;
  for (const char c : alphabet)
    out.pieces.emplace_back(1, c);
  for (int i = 0; i < 12; ++i) {
    const std::string left = out.pieces[random() % out.pieces.size()];
    const std::string right = out.pieces[random() % out.pieces.size()];
    const std::pair<std::string, std::string> merge{left, right};
    if (std::ranges::find(out.merges, merge) != out.merges.end()) continue;
    out.merges.push_back(merge);
    if (std::ranges::find(out.pieces, left + right) == out.pieces.end())
      out.pieces.push_back(left + right);
  }
  return out;
}

// The definition: again and again the best-ranked pair, leftmost first.
std::vector<std::string> merged_by_definition(const RandomMerges& rules, const std::string& text) {
  std::vector<std::string> symbols;
  for (const char c : text)
    symbols.emplace_back(1, c);
  while (true) {
    size_t best_rank = rules.merges.size();
    size_t best = 0;
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      const auto found = std::ranges::find(rules.merges, std::pair(symbols[i], symbols[i + 1]));
      const auto rank = static_cast<size_t>(found - rules.merges.begin());
      if (rank < best_rank) {
        best_rank = rank;
        best = i;
      }
    }
    if (best_rank == rules.merges.size()) return symbols;
    symbols[best] += symbols[best + 1];
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

TEST(Bpe, MergesByRankInShortAndLongPieces) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int i = 0; i < 200; ++i) {
    // With eight letters most pairs never meet in a token: long texts are cut between them.
    const std::string_view alphabet = i % 2 == 0 ? "abc" : "abcdefgh";
    const RandomMerges rules = random_merges(random, alphabet);
    const Vocabulary vocabulary = vocabulary_of(rules.pieces);
    MergeTable table;
    for (size_t rank = 0; rank < rules.merges.size(); ++rank) {
      const auto& [left, right] = rules.merges[rank];
      table.insert(*vocabulary.find(left), *vocabulary.find(right),
                   {static_cast<uint32_t>(rank), *vocabulary.find(left + right)});
    }
    const Bpe model(vocabulary, std::move(table), {});
    std::vector<size_t> lengths{1, 2, 7, 24, 25, 60};
    if (i < 4) lengths.push_back(2100);  // long enough for the queue of long texts
    for (const size_t length : lengths) {
      std::string text;
      for (size_t k = 0; k < length; ++k)
        text += alphabet[random() % alphabet.size()];
      ASSERT_EQ(encoded(model, vocabulary, text), merged_by_definition(rules, text)) << text;
    }
  }
}

TEST(Bpe, FallsBackToBytesAndUnknowns) {
  const Vocabulary vocabulary = vocabulary_of({"<unk>", "a", "<0xC3>", "<0xA9>", "b</w>"});
  const Bpe bytes(vocabulary, {}, {.byte_fallback = true});
  EXPECT_THAT(encoded(bytes, vocabulary, "a\u00e9"), ElementsAre("a", "<0xC3>", "<0xA9>"));
  const Bpe single(vocabulary, {}, {.unk_token = "<unk>"});
  EXPECT_THAT(encoded(single, vocabulary, "xya"), ElementsAre("<unk>", "<unk>", "a"));
  const Bpe fused(vocabulary, {}, {.unk_token = "<unk>", .fuse_unk = true});
  EXPECT_THAT(encoded(fused, vocabulary, "xya"), ElementsAre("<unk>", "a"));
  const Bpe suffixed(vocabulary, {}, {.end_of_word_suffix = "</w>"});
  EXPECT_THAT(encoded(suffixed, vocabulary, "ab"), ElementsAre("a", "b</w>"));
  TokenSink sink;
  EXPECT_FALSE(Bpe(vocabulary, {}, {.unk_token = "<none>"}).encode("x", sink));
}

TEST(Bpe, TakesKnownPiecesWholeWhereMergesAreIgnored) {
  const Vocabulary vocabulary = vocabulary_of({"a", "b", "ab"});
  EXPECT_THAT(encoded(Bpe(vocabulary, {}, {.ignore_merges = true}), vocabulary, "ab"),
              ElementsAre("ab"));
  EXPECT_THAT(encoded(Bpe(vocabulary, {}, {}), vocabulary, "ab"), ElementsAre("a", "b"));
}

TEST(Unigram, FindsTheBestSum) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-10, -1);
  const std::vector<std::string> pieces{"<unk>", "a", "b", "ab", "ba", "aab", "bb", "abab"};
  const Vocabulary vocabulary = vocabulary_of(pieces);
  for (int i = 0; i < 200; ++i) {
    std::vector<double> scores;
    for (size_t k = 0; k < pieces.size(); ++k)
      scores.push_back(uniform(random));
    const Unigram model(vocabulary, scores, {.unk = 0, .unk_score = -100});
    std::string text;
    for (size_t length = 1 + random() % 9; length > 0; --length)
      text += "ab"[random() % 2];
    // best[i]: the greatest sum for the first i characters.
    std::vector<double> best(text.size() + 1, -1e9);
    best[0] = 0;
    for (size_t end = 1; end <= text.size(); ++end) {
      for (size_t k = 1; k < pieces.size(); ++k) {
        if (pieces[k].size() > end ||
            text.substr(end - pieces[k].size(), pieces[k].size()) != pieces[k])
          continue;
        best[end] = std::max(best[end], best[end - pieces[k].size()] + scores[k]);
      }
    }
    double sum = 0;
    TokenSink sink;
    ASSERT_TRUE(model.encode(text, sink));
    for (const TokenId id : sink.ids)
      sum += scores[static_cast<size_t>(id)];
    EXPECT_NEAR(sum, best[text.size()], 1e-9) << text;
  }
}

TEST(Unigram, JoinsUnknownsAndShowsTheirText) {
  const Vocabulary vocabulary = vocabulary_of({"<unk>", "a"});
  const Unigram model(vocabulary, {0, -1}, {.unk = 0, .unk_score = -11});
  TokenSink sink;
  sink.wants_surfaces = true;
  ASSERT_TRUE(model.encode("xya", sink));
  EXPECT_THAT(sink.ids, ElementsAre(0, 1));
  ASSERT_EQ(sink.surfaces.size(), 1U);
  EXPECT_EQ(sink.surfaces[0].second, "xy");
  TokenSink none;
  EXPECT_FALSE(Unigram(vocabulary, {0, -1}, {}).encode("x", none));
}

TEST(WordPiece, TakesTheLongestEntriesOrGivesTheWordUp) {
  const Vocabulary vocabulary = vocabulary_of({"[UNK]", "un", "##aff", "##able", "##a", "u"});
  const WordPiece model(vocabulary, {});
  EXPECT_THAT(encoded(model, vocabulary, "unaffable"), ElementsAre("un", "##aff", "##able"));
  EXPECT_THAT(encoded(model, vocabulary, "unaffx"), ElementsAre("[UNK]"));
  EXPECT_THAT(encoded(WordPiece(vocabulary, {.longest_word_chars = 3}), vocabulary, "unaff"),
              ElementsAre("[UNK]"));
}

TEST(WordLevel, KnowsWholeWords) {
  const Vocabulary vocabulary = vocabulary_of({"<unk>", "the"});
  EXPECT_THAT(encoded(WordLevel(vocabulary, "<unk>"), vocabulary, "the"), ElementsAre("the"));
  EXPECT_THAT(encoded(WordLevel(vocabulary, "<unk>"), vocabulary, "then"), ElementsAre("<unk>"));
  TokenSink sink;
  EXPECT_FALSE(WordLevel(vocabulary, "<none>").encode("then", sink));
}

TEST(ScoreBpe, MergesByScoreAndTakesUnusedEntriesApart) {
  const Vocabulary vocabulary = vocabulary_of({"<unk>", "a", "b", "c", "ab", "bc", "abc"});
  const std::vector<float> scores{0, -9, -9, -9, -2, -1, -3};
  EXPECT_THAT(encoded(ScoreBpe(vocabulary, scores, {.unk = 0}), vocabulary, "abc"),
              ElementsAre("abc"));
  EXPECT_THAT(encoded(ScoreBpe(vocabulary, scores, {.unk = 0}), vocabulary, "xxab"),
              ElementsAre("<unk>", "ab"));
  std::vector<bool> unused(7, false);
  unused[6] = true;
  EXPECT_THAT(
      encoded(ScoreBpe(vocabulary, scores, {.unk = 0, .is_unused = unused}), vocabulary, "abc"),
      ElementsAre("a", "bc"));
}

// The definition: again and again the pair whose text has the best score, leftmost first.
std::vector<std::string> joined_by_score(const std::vector<std::string>& pieces,
                                         const std::vector<float>& scores,
                                         const std::string& text) {
  std::vector<std::string> symbols;
  for (const char c : text)
    symbols.emplace_back(1, c);
  while (true) {
    std::optional<float> best_score;
    size_t best = 0;
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      const auto found = std::ranges::find(pieces, symbols[i] + symbols[i + 1]);
      if (found == pieces.end()) continue;
      const float score = scores[static_cast<size_t>(found - pieces.begin())];
      if (best_score && *best_score >= score) continue;
      best_score = score;
      best = i;
    }
    if (!best_score) return symbols;
    symbols[best] += symbols[best + 1];
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

TEST(ScoreBpe, MergesByScoreInShortAndLongPieces) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int i = 0; i < 200; ++i) {
    const std::string_view alphabet = i % 2 == 0 ? "ab<" : "abcdef<>";
    std::vector<std::string> pieces = random_merges(random, alphabet).pieces;
    pieces.emplace_back("<ab>");  // mostly out of reach
    if (std::ranges::count(pieces, "<ab>") > 1) pieces.pop_back();
    std::vector<float> scores;
    for (size_t k = 0; k < pieces.size(); ++k)
      scores.push_back(-static_cast<float>(random() % 8));  // some are equal
    const Vocabulary vocabulary = vocabulary_of(pieces);
    const ScoreBpe model(vocabulary, scores, {});
    std::vector<size_t> lengths{1, 2, 7, 60};
    if (i < 4) lengths.push_back(2100);
    for (const size_t length : lengths) {
      std::string text;
      for (size_t k = 0; k < length; ++k)
        text += alphabet[random() % alphabet.size()];
      ASSERT_EQ(encoded(model, vocabulary, text), joined_by_score(pieces, scores, text)) << text;
    }
  }
}

TEST(Vocabulary, RefusesIdsFarBeyondItsTokens) {
  Vocabulary vocabulary;
  EXPECT_FALSE(vocabulary.insert("a", -1, "test"));
  EXPECT_FALSE(vocabulary.insert("a", std::numeric_limits<int64_t>::max(), "test"));
  EXPECT_FALSE(vocabulary.insert("a", 16'000'000, "test"));
  EXPECT_FALSE(vocabulary.insert(std::string(70'000, 'x'), 0, "test"));
  EXPECT_TRUE(vocabulary.insert("a", 7, "test"));
  EXPECT_FALSE(vocabulary.has(3));
  EXPECT_EQ(vocabulary.piece(3), "");
  EXPECT_EQ(vocabulary.piece(7), "a");
  EXPECT_EQ(vocabulary.find("b"), std::nullopt);
}

}  // namespace
}  // namespace ingot::tok
