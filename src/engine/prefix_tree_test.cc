// SPDX-License-Identifier: Apache-2.0
#include "engine/prefix_tree.h"

#include <gmock/gmock.h>

#include <numeric>

#include "engine/host_tier.h"
#include "engine/prefix_simulation.h"

namespace ingot {
namespace {

using testing::ElementsAre;

std::vector<TokenId> count_up(TokenId from, int64_t count) {
  std::vector<TokenId> tokens(static_cast<size_t>(count));
  std::iota(tokens.begin(), tokens.end(), from);
  return tokens;
}

std::vector<TokenId> operator+(std::vector<TokenId> a, const std::vector<TokenId>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

int64_t matched(FakeCache& cache, const std::vector<TokenId>& tokens,
                const PrefixNamespace& space = {}) {
  PrefixMatch match = cache.tree->match(space, tokens, std::ssize(tokens));
  const int64_t length = match.tokens;
  cache.tree->release(match);
  return length;
}

TEST(PrefixTree, MatchesAtTokenGranularity) {
  FakeCache cache({.pages = {16}, .windows = {0}});
  ASSERT_TRUE(cache.run({}, count_up(0, 11)));
  EXPECT_EQ(matched(cache, count_up(0, 11)), 11);
  EXPECT_EQ(matched(cache, count_up(0, 20)), 11);
  EXPECT_EQ(matched(cache, count_up(0, 6) + count_up(50, 6)), 6);
  EXPECT_EQ(matched(cache, count_up(0, 8) + count_up(50, 6)), 8);
  EXPECT_EQ(matched(cache, count_up(1, 8)), 0);
  EXPECT_EQ(matched(cache, {}), 0);
}

TEST(PrefixTree, NeverMatchesMoreThanAsked) {
  FakeCache cache({.pages = {16}, .windows = {0}});
  ASSERT_TRUE(cache.run({}, count_up(0, 8)));
  PrefixMatch match = cache.tree->match({}, count_up(0, 8), 7);
  EXPECT_EQ(match.tokens, 7);
  EXPECT_THAT(match.pages[0], testing::SizeIs(1));
  ASSERT_THAT(match.partial, testing::SizeIs(1));  // the second page, three of its slots
  EXPECT_EQ(cache.pools[0]->references(match.partial[0]), 2);
  cache.tree->release(match);
  EXPECT_EQ(cache.tree->evictable(0), 2);
}

TEST(PrefixTree, KeepsNamespacesApart) {
  FakeCache cache({.pages = {16}, .windows = {0}});
  ASSERT_TRUE(cache.run({.salt = "a"}, count_up(0, 8)));
  EXPECT_EQ(matched(cache, count_up(0, 8), {.salt = "b"}), 0);
  EXPECT_EQ(matched(cache, count_up(0, 8), {.salt = "a", .rope_class = 1}), 0);
  EXPECT_EQ(matched(cache, count_up(0, 8), {.salt = "a"}), 8);
  EXPECT_EQ(cache.tree->stats().namespaces, 1);  // asking leaves nothing behind
}

TEST(PrefixTree, HandsOutTheOlderPageOfTwoEqualOnes) {
  FakeCache cache({.pages = {16}, .windows = {0}});
  FakeSequence a = *cache.start({}, count_up(0, 4));
  FakeSequence b = *cache.start({}, count_up(0, 4));
  while (a.computed < 4) {
    ASSERT_TRUE(cache.step(a));
    ASSERT_TRUE(cache.step(b));
  }
  EXPECT_EQ(a.node, b.node);
  EXPECT_EQ(a.pages, b.pages);
  EXPECT_EQ(cache.pools[0]->free_pages(), 15);
  EXPECT_EQ(cache.pools[0]->references(a.pages[0][0]), 3);
  EXPECT_EQ(cache.tree->evictable(0), 0);
  cache.finish(a, true);
  EXPECT_EQ(cache.tree->evictable(0), 0);
  cache.finish(b, true);
  EXPECT_EQ(cache.tree->evictable(0), 1);
}

TEST(PrefixTree, DropsATailThatALongerOneRepeats) {
  FakeCache cache({.pages = {16}, .windows = {0}});
  ASSERT_TRUE(cache.run({}, count_up(0, 6)));
  ASSERT_TRUE(cache.run({}, count_up(0, 7)));
  EXPECT_EQ(cache.tree->stats().nodes, 2);
  ASSERT_TRUE(cache.run({}, count_up(0, 8)));
  EXPECT_EQ(cache.tree->stats().nodes, 2);
  ASSERT_TRUE(cache.run({}, count_up(0, 6)));  // says nothing new
  EXPECT_EQ(cache.tree->stats().nodes, 2);
  EXPECT_EQ(cache.pools[0]->free_pages(), 14);
}

TEST(PrefixTree, EvictsTheLeastRecentlyUsedLeafFirst) {
  FakeCache cache({.pages = {16}, .windows = {0}});
  ASSERT_TRUE(cache.run({}, count_up(0, 8)));
  ASSERT_TRUE(cache.run({}, count_up(100, 8)));
  EXPECT_EQ(matched(cache, count_up(0, 8)), 8);  // used again
  EXPECT_EQ(cache.tree->evict(0, 1), 1);
  EXPECT_EQ(matched(cache, count_up(100, 8)), 4);
  EXPECT_EQ(cache.tree->evict(0, 2), 2);
  EXPECT_EQ(matched(cache, count_up(100, 8)), 4);
  EXPECT_EQ(matched(cache, count_up(0, 8)), 0);
  EXPECT_EQ(cache.tree->evict(0, 100), 1);
  EXPECT_EQ(cache.tree->stats().nodes, 0);
  EXPECT_EQ(cache.tree->stats().namespaces, 0);
  EXPECT_EQ(cache.pools[0]->free_pages(), 16);
}

TEST(PrefixTree, NeverEvictsPinnedNodesOrTheirAncestors) {
  FakeCache cache({.pages = {16}, .windows = {0}});
  ASSERT_TRUE(cache.run({}, count_up(0, 12)));
  PrefixMatch match = cache.tree->match({}, count_up(0, 12), 8);
  EXPECT_EQ(cache.tree->evictable(0), 1);
  EXPECT_EQ(cache.tree->evict(0, 10), 1);
  EXPECT_EQ(matched(cache, count_up(0, 12)), 8);
  cache.tree->pin(match.node);
  PrefixNode* const node = match.node;
  cache.tree->release(match);
  EXPECT_EQ(cache.tree->evict(0, 10), 0);
  cache.tree->unpin(node);
  EXPECT_EQ(cache.tree->evict(0, 10), 2);
}

TEST(PrefixTree, NeedsOnlyTheWindowOfASlidingGroup) {
  FakeCache cache({.pages = {16, 16}, .windows = {0, 6}});
  ASSERT_TRUE(cache.run({}, count_up(0, 24)));
  PrefixMatch match = cache.tree->match({}, count_up(0, 24), 20);
  EXPECT_EQ(match.tokens, 20);
  EXPECT_THAT(match.pages[0], testing::Not(testing::Contains(kNoPage)));
  // Positions 14 to 19 lie in pages 3 and 4.
  EXPECT_THAT(match.pages[1],
              ElementsAre(kNoPage, kNoPage, kNoPage, testing::Ge(0), testing::Ge(0)));
  cache.tree->release(match);
}

TEST(PrefixTree, ShortensTheMatchToWhereItsWindowIsPresent) {
  FakeCache cache({.pages = {16, 16}, .windows = {0, 4}});
  ASSERT_TRUE(cache.run({}, count_up(0, 24)));
  // All but the last two sliding pages: they have been idle for longest.
  EXPECT_EQ(cache.tree->evictable(1), 6);
  EXPECT_EQ(cache.tree->evict(1, 4), 4);
  EXPECT_EQ(matched(cache, count_up(0, 24)), 24);
  EXPECT_EQ(matched(cache, count_up(0, 23)), 23);  // 19 to 22: pages 4 and 5
  EXPECT_EQ(matched(cache, count_up(0, 19)), 0);   // 15 is in page 3, which is gone
  ASSERT_TRUE(cache.run({}, count_up(0, 8)));      // computed again and filled in
  EXPECT_EQ(matched(cache, count_up(0, 8)), 8);
  EXPECT_EQ(cache.tree->stats().nodes, 6);
}

TEST(PrefixTree, GivesBackSlidingPagesBehindARunningSequence) {
  FakeCache cache({.pages = {16, 3}, .windows = {0, 4}});
  FakeSequence seq = *cache.start({}, count_up(0, 64));
  while (seq.computed < 64)
    ASSERT_TRUE(cache.step(seq)) << seq.computed;  // three sliding pages carry any length
  cache.finish(seq, true);
  EXPECT_EQ(matched(cache, count_up(0, 64)), 64);
}

TEST(PrefixTree, TakesFromNamespacesAboveTheirShareFirst) {
  FakeCache cache({.pages = {16}, .windows = {0}, .namespace_share = 0.25});
  ASSERT_TRUE(cache.run({.salt = "modest"}, count_up(0, 16)));
  ASSERT_TRUE(cache.run({.salt = "greedy"}, count_up(0, 48)));
  EXPECT_EQ(cache.tree->evict(0, 8), 8);
  EXPECT_EQ(matched(cache, count_up(0, 16), {.salt = "modest"}), 16);
  EXPECT_EQ(matched(cache, count_up(0, 48), {.salt = "greedy"}), 16);
}

TEST(PrefixTree, CountsWhatItReuses) {
  FakeCache cache({.pages = {16}, .windows = {0}});
  ASSERT_TRUE(cache.run({}, count_up(0, 9)));
  ASSERT_TRUE(cache.run({}, count_up(0, 9)));
  const PrefixStats stats = cache.tree->stats();
  EXPECT_EQ(stats.tokens_asked, 16);
  EXPECT_EQ(stats.tokens_reused, 8);
  EXPECT_THAT(stats.pages_held, ElementsAre(3));
}

TEST(PrefixTree, SurvivesAVeryLongChain) {
  FakeCache cache({.page_tokens = 1, .pages = {200'000}, .windows = {0}});
  PrefixMatch match = cache.tree->match({}, {}, 0);
  PrefixNode* node = match.node;
  for (TokenId i = 0; i < 200'000; ++i) {
    PageId page = *cache.pools[0]->take();
    node = cache.tree->extend(node, std::span(&i, 1), std::span(&page, 1));
    cache.pools[0]->release(page);
  }
  cache.tree->unpin(node);
  EXPECT_EQ(cache.tree->evictable(0), 200'000);
  EXPECT_EQ(cache.tree->evict(0, 1), 1);
}

TEST(PrefixTree, BringsEvictedPagesBackFromTheHost) {
  HostTier host(1 << 20, nullptr);
  FakeCache cache({.pages = {16, 16}, .windows = {0, 6}, .store = &host});
  ASSERT_TRUE(cache.run({}, count_up(0, 22)));
  EXPECT_EQ(cache.tree->evict(0, 100), 6);
  EXPECT_EQ(cache.pools[0]->free_pages() + cache.pools[1]->free_pages(), 32);
  EXPECT_EQ(cache.tree->stats().nodes, 6);
  PrefixMatch match = cache.tree->match({}, count_up(0, 22), 22);
  EXPECT_EQ(match.tokens, 22);
  EXPECT_EQ(match.loaded_pages, 6 + 2);
  EXPECT_EQ(match.loaded_tokens, 22);
  const std::vector<uint64_t> values = slot_values({}, count_up(0, 22));
  EXPECT_EQ(cache.memory.slot(0, match.pages[0][0], 3), values[3]);
  EXPECT_EQ(cache.memory.slot(1, match.partial[1], 1), values[21]);
  cache.tree->release(match);
}

TEST(PrefixTree, EndsTheMatchWhereNoPageIsLeftToLoadInto) {
  HostTier host(1 << 20, nullptr);
  FakeCache cache({.pages = {6}, .windows = {0}, .store = &host});
  ASSERT_TRUE(cache.run({}, count_up(0, 16)));
  EXPECT_EQ(cache.tree->evict(0, 4), 4);
  std::vector<PageId> taken(4);
  for (PageId& id : taken)
    id = *cache.pools[0]->take();
  EXPECT_EQ(matched(cache, count_up(0, 16)), 8);
  EXPECT_EQ(cache.tree->evictable(0), 2);
  for (const PageId id : taken)
    cache.pools[0]->release(id);
  EXPECT_EQ(matched(cache, count_up(0, 16)), 16);
}

TEST(PrefixTree, MakesRoomForWhatIsLoaded) {
  HostTier host(1 << 20, nullptr);
  FakeCache cache({.pages = {4}, .windows = {0}, .store = &host});
  ASSERT_TRUE(cache.run({}, count_up(0, 16)));
  ASSERT_TRUE(cache.run({}, count_up(100, 16)));  // pushes the first one out
  EXPECT_EQ(matched(cache, count_up(0, 16)), 16);
  EXPECT_EQ(matched(cache, count_up(100, 16)), 16);
}

TEST(PrefixTree, ForgetsNodesThatTheLastTierDropped) {
  HostTier host(uint64_t{3} * 4 * sizeof(uint64_t), nullptr);
  FakeCache cache({.pages = {16}, .windows = {0}, .store = &host});
  ASSERT_TRUE(cache.run({}, count_up(0, 32)));
  EXPECT_EQ(cache.tree->evict(0, 100), 8);
  EXPECT_EQ(host.pages(), 3);
  EXPECT_EQ(cache.tree->stats().nodes, 3);  // leaves went first, so the first pages are left
  EXPECT_EQ(matched(cache, count_up(0, 32)), 12);
}

}  // namespace
}  // namespace ingot
