// SPDX-License-Identifier: Apache-2.0
// Random sequences over a tiny alphabet against a naive oracle: after every operation the reference
// counts, the free pages and evictable() are recounted from scratch, and every match is compared
// with the longest prefix found by trying all cached sequences at all lengths.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <utility>

#include "engine/host_tier.h"
#include "engine/prefix_simulation.h"

namespace ingot {
namespace {

// A store that refuses, loses and forgets at random.
class FlakyStore final : public PageStore {
 public:
  FlakyStore(uint64_t seed, uint64_t limit_bytes) : seed_(seed), host_(limit_bytes, nullptr) {}
  bool put(const StoredPage& page, std::span<const std::byte> bytes) override {
    return !chance(8) && host_.put(page, bytes);
  }
  bool load(const StoredPage& page, std::span<std::byte> out) override {
    if (!chance(8)) return host_.load(page, out);
    host_.erase(page.id);
    return false;
  }
  std::vector<StoredId> take_dropped() override { return host_.take_dropped(); }
  std::vector<StoredPage> list() const override { return host_.list(); }
  void erase(const StoredId& id) override { host_.erase(id); }
  void flush() override {}

 private:
  bool chance(uint64_t in) { return random_bits(seed_, counter_++) % in == 0; }
  uint64_t seed_;
  uint64_t counter_ = 0;
  HostTier host_;
};

class RandomWorld {
 public:
  RandomWorld(uint64_t seed, bool has_store) : seed_(seed), store_(seed, uint64_t{40} * 4 * 8) {
    FakeCache::Options options;
    const size_t groups = 1 + below(3);
    for (size_t g = 0; g < groups; ++g) {
      options.pages.push_back(static_cast<int64_t>(8 + below(24)));
      options.windows.push_back(below(2) == 0 ? 0 : static_cast<int64_t>(1 + below(12)));
    }
    options.page_tokens = static_cast<int64_t>(2 + below(3));
    if (below(3) == 0) options.namespace_share = 0.3;
    if (has_store) options.store = &store_;
    cache_ = std::make_unique<FakeCache>(options);
    has_store_ = has_store;
  }

  void act() {
    if (below(100) == 0) clear();
    switch (below(12)) {
      case 0:
      case 1:
        start();
        break;
      case 2:
        finish();
        break;
      case 3:
        fork();
        break;
      case 4:
        evict();
        break;
      case 5:
        ask();
        break;
      default:
        grow();
        break;
    }
    check();
  }
  int64_t reused() const { return cache_->tree->stats().tokens_reused; }
  int64_t loaded() const { return cache_->tree->stats().pages_loaded; }
  int64_t evicted() const { return cache_->tree->stats().pages_evicted; }

 private:
  uint64_t below(uint64_t limit) { return random_bits(seed_, counter_++) % limit; }
  PrefixNamespace random_space() {
    return below(3) > 0 ? PrefixNamespace{} : PrefixNamespace{.salt = "tenant"};
  }
  std::vector<TokenId> random_prompt() {
    std::vector<TokenId> tokens;
    const uint64_t size = 1 + below(24);
    const uint64_t letters = 1 + below(3);  // one letter: long shared prefixes
    for (uint64_t i = 0; i < size; ++i)
      tokens.push_back(static_cast<TokenId>(below(letters)));
    return tokens;
  }

  // The naive oracle: every cached sequence, every length.
  int64_t longest(const PrefixNamespace& space, std::span<const TokenId> tokens, bool with_stored) {
    const PageKey root = namespace_key(space);
    const int64_t page = cache_->tree->page_tokens();
    int64_t best = 0;
    cache_->tree->for_each([&](const PrefixNode& node) {
      if (node.root->key != root || node.is_root()) return;
      std::vector<const PrefixNode*> path;
      for (const PrefixNode* at = &node; !at->is_root(); at = at->parent)
        path.insert(path.begin(), at);
      std::vector<TokenId> cached;
      for (const PrefixNode* at : path)
        cached.insert(cached.end(), at->tokens.begin(), at->tokens.end());
      for (int64_t end = 1; end <= std::min(std::ssize(cached), std::ssize(tokens)); ++end) {
        if (cached[static_cast<size_t>(end - 1)] != tokens[static_cast<size_t>(end - 1)]) break;
        bool is_there = true;
        for (size_t g = 0; g < cache_->pools.size(); ++g) {
          const int64_t window = cache_->windows[g];
          for (int64_t at = window == 0 ? 0 : std::max<int64_t>(0, end - window); at < end; ++at) {
            const PrefixNode& of = *path[static_cast<size_t>(at / page)];
            is_there = is_there &&
                       (of.pages[g] != kNoPage || (with_stored && ((of.stored >> g) & 1U) != 0));
          }
        }
        if (is_there) best = std::max(best, end);
      }
    });
    return best;
  }

  // Matches, compares with the oracle and with what the slots must hold, and gives it back.
  void ask() {
    const PrefixNamespace space = random_space();
    const std::vector<TokenId> tokens = random_prompt();
    const auto limit = static_cast<int64_t>(below(tokens.size() + 2));
    const auto asked = std::span(tokens).first(std::min(tokens.size(), static_cast<size_t>(limit)));
    const int64_t resident = longest(space, asked, false);
    const int64_t stored = longest(space, asked, true);
    PrefixMatch match = cache_->tree->match(space, tokens, limit);
    if (has_store_) {
      ASSERT_GE(match.tokens, resident);
      ASSERT_LE(match.tokens, stored);
    } else {
      ASSERT_EQ(match.tokens, resident);
    }
    const std::vector<uint64_t> values = slot_values(space, tokens);
    const int64_t page = cache_->tree->page_tokens();
    for (size_t g = 0; g < cache_->pools.size(); ++g) {
      const int64_t window = cache_->windows[g];
      ASSERT_EQ(std::ssize(match.pages[g]), match.tokens / page);
      for (int64_t at = window == 0 ? 0 : std::max<int64_t>(0, match.tokens - window);
           at < match.tokens; ++at) {
        const bool is_whole = at / page < match.tokens / page;
        const PageId id =
            is_whole ? match.pages[g][static_cast<size_t>(at / page)] : match.partial[g];
        ASSERT_NE(id, kNoPage);
        ASSERT_EQ(cache_->memory.slot(g, id, at % page), values[static_cast<size_t>(at)]);
      }
    }
    held_.push_back(std::move(match));  // counted by check(), so that its references are seen
    check();
    PrefixMatch back = std::move(held_.back());
    held_.pop_back();
    cache_->tree->release(back);
  }

  void start() {
    if (running_.size() >= 4) return;
    const PrefixNamespace space = random_space();
    std::optional<FakeSequence> seq = cache_->start(space, random_prompt());
    if (seq) running_.push_back(std::move(*seq));
  }

  void grow() {
    if (running_.empty()) return;
    const size_t which = below(running_.size());
    FakeSequence& seq = running_[which];
    for (uint64_t steps = 1 + below(6); steps > 0; --steps) {
      if (seq.computed == std::ssize(seq.tokens))
        seq.tokens.push_back(static_cast<TokenId>(below(2)));
      if (cache_->step(seq)) continue;
      // Out of pages: the step took some of them perhaps, and the sequence is preempted.
      for (size_t g = 0; g < cache_->pools.size(); ++g) {
        const auto kept = static_cast<size_t>((seq.computed + cache_->tree->page_tokens() - 1) /
                                              cache_->tree->page_tokens());
        if (seq.pages[g].size() <= kept) continue;
        cache_->pools[g]->release(seq.pages[g].back());
        seq.pages[g].pop_back();
      }
      end(which, true);
      return;
    }
  }

  void fork() {
    if (running_.empty() || running_.size() >= 4) return;
    FakeSequence copy = running_[below(running_.size())];
    if (copy.computed % cache_->tree->page_tokens() != 0) return;  // the tail would need a copy
    cache_->tree->pin(copy.node);
    for (size_t g = 0; g < cache_->pools.size(); ++g) {
      for (const PageId id : copy.pages[g]) {
        if (id != kNoPage) cache_->pools[g]->add_reference(id);
      }
    }
    copy.tokens.resize(static_cast<size_t>(copy.computed));
    running_.push_back(std::move(copy));
  }

  void finish() {
    if (!running_.empty()) end(below(running_.size()), below(3) > 0);
  }
  void end(size_t which, bool keeps_tail) {
    cache_->finish(running_[which], keeps_tail);
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(which));
  }

  void evict() {
    const size_t group = below(cache_->pools.size());
    const auto count = static_cast<int64_t>(below(4) == 0 ? 1000 : below(6));
    const int64_t before = cache_->tree->evictable(group);
    const int64_t free_before = cache_->pools[group]->free_pages();
    ASSERT_EQ(cache_->tree->evict(group, count), std::min(count, before));
    ASSERT_EQ(cache_->pools[group]->free_pages() - free_before, std::min(count, before));
    ASSERT_EQ(cache_->tree->evictable(group), before - std::min(count, before));
  }

  void clear() {
    int64_t before = 0;
    cache_->tree->for_each([&](const PrefixNode& node) { before += node.is_root() ? 0 : 1; });
    const int64_t gone = cache_->tree->clear();
    int64_t left = 0;
    cache_->tree->for_each([&](const PrefixNode& node) {
      EXPECT_TRUE(node.is_protected());
      EXPECT_EQ(node.stored, 0U);
      left += node.is_root() ? 0 : 1;
    });
    ASSERT_EQ(before - gone, left);
    ASSERT_EQ(cache_->tree->stats().nodes, left);
    if (has_store_) {
      ASSERT_TRUE(store_.list().empty());
    }
  }

  void check() {
    for (size_t g = 0; g < cache_->pools.size(); ++g) {
      const PagePool& pool = *cache_->pools[g];
      std::vector<int32_t> references(static_cast<size_t>(pool.size()), 0);
      const auto count = [&](PageId id) {
        if (id != kNoPage) ++references[static_cast<size_t>(id)];
      };
      int64_t held = 0;
      int64_t evictable = 0;
      cache_->tree->for_each([&](const PrefixNode& node) {
        count(node.pages[g]);
        held += node.pages[g] != kNoPage ? 1 : 0;
        if (cache_->windows[g] == 0)
          evictable += node.pages[g] != kNoPage && !node.is_protected() ? 1 : 0;
        else
          evictable += node.pages[g] != kNoPage && pool.references(node.pages[g]) == 1 ? 1 : 0;
      });
      for (const FakeSequence& seq : running_)
        std::ranges::for_each(seq.pages[g], count);
      for (const PrefixMatch& match : held_) {
        std::ranges::for_each(match.pages[g], count);
        if (!match.partial.empty()) count(match.partial[g]);
      }
      int64_t free = 0;
      for (PageId id = 0; id < pool.size(); ++id) {
        ASSERT_EQ(pool.references(id), references[static_cast<size_t>(id)]);
        free += references[static_cast<size_t>(id)] == 0 ? 1 : 0;
      }
      ASSERT_EQ(pool.free_pages(), free);
      ASSERT_EQ(pool.held_pages(), held);
      ASSERT_EQ(cache_->tree->stats().pages_held[g], held);
      ASSERT_EQ(cache_->tree->evictable(g), evictable);
    }
  }

  uint64_t seed_;
  uint64_t counter_ = 0;
  FlakyStore store_;
  bool has_store_ = false;
  std::unique_ptr<FakeCache> cache_;
  std::vector<FakeSequence> running_;
  std::vector<PrefixMatch> held_;
};

void run_worlds(bool has_store, uint64_t first_seed) {
  int64_t reused = 0;
  int64_t evicted = 0;
  int64_t loaded = 0;
  for (uint64_t seed = first_seed; seed < first_seed + 200; ++seed) {
    RandomWorld world(seed, has_store);
    for (int i = 0; i < 500; ++i) {
      world.act();
      if (testing::Test::HasFatalFailure()) FAIL() << "seed " << seed << ", operation " << i;
    }
    reused += world.reused();
    evicted += world.evicted();
    loaded += world.loaded();
  }
  // The worlds are worth something only when everything happens in them.
  EXPECT_GT(reused, 1000);
  EXPECT_GT(evicted, 1000);
  EXPECT_EQ(loaded > 1000, has_store);
}

TEST(PrefixTreeModel, AgreesWithTheNaiveOracle) {
  run_worlds(false, 1);
}
TEST(PrefixTreeModel, AgreesWithTheNaiveOracleOverAStoreThatLosesPages) {
  run_worlds(true, 100'000);
}

}  // namespace
}  // namespace ingot
