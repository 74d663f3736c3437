// SPDX-License-Identifier: Apache-2.0
// For tests: cache memory in which a slot holds a hash of all tokens up to it, so that any page can
// be told right from wrong, and sequences that use the prefix tree the way the scheduler does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/page_store.h"
#include "engine/prefix_tree.h"
#include "engine/random.h"

namespace ingot {

class FakeMemory final : public HostPageMemory {
 public:
  FakeMemory(const std::vector<int64_t>& pages, int64_t page_tokens) : page_tokens_(page_tokens) {
    for (const int64_t count : pages)
      groups_.emplace_back(static_cast<size_t>(count * page_tokens), 0);
  }
  std::span<std::byte> page(size_t group, PageId id) override {
    return std::as_writable_bytes(
        std::span(&slot(group, id, 0), static_cast<size_t>(page_tokens_)));
  }
  uint64_t& slot(size_t group, PageId id, int64_t at) {
    return groups_[group][static_cast<size_t>(id * page_tokens_ + at)];
  }
  uint64_t page_bytes() const { return static_cast<uint64_t>(page_tokens_) * sizeof(uint64_t); }

 private:
  int64_t page_tokens_;
  std::vector<std::vector<uint64_t>> groups_;
};

// What the model would leave at each position.
inline std::vector<uint64_t> slot_values(const PrefixNamespace& space,
                                         std::span<const TokenId> tokens) {
  uint64_t hash = PageKeyHash()(namespace_key(space));
  std::vector<uint64_t> values;
  for (const TokenId token : tokens)
    values.push_back(hash = random_bits(hash, static_cast<uint64_t>(token)));
  return values;
}

struct FakeSequence {
  PrefixNamespace space;
  std::vector<TokenId> tokens;
  int64_t computed = 0;  // of them
  int64_t in_tree = 0;   // pages given to the tree
  PrefixNode* node = nullptr;
  std::vector<PageTable> pages = {};  // [group]
};

// Pools, memory, tree and the sequences that run on them.
class FakeCache {
 public:
  struct Options {
    int64_t page_tokens = 4;
    std::vector<int64_t> pages = {};
    std::vector<int64_t> windows = {};  // [group]
    double namespace_share = 1.0;
    int neighbours = 1000;
    PageStore* store = nullptr;
  };
  explicit FakeCache(const Options& options)
      : windows(options.windows), memory(options.pages, options.page_tokens) {
    PrefixTreeOptions tree_options;
    tree_options.page_tokens = options.page_tokens;
    tree_options.namespace_share = options.namespace_share;
    tree_options.neighbours = options.neighbours;
    tree_options.store = options.store;
    tree_options.memory = options.store != nullptr ? &memory : nullptr;
    for (size_t g = 0; g < options.pages.size(); ++g) {
      pools.push_back(std::make_unique<PagePool>(options.pages[g]));
      tree_options.groups.push_back({.pool = pools[g].get(), .window = options.windows[g]});
    }
    tree = std::make_unique<PrefixTree>(tree_options);
  }

  // Matches all but the last token; nothing when no page was left for the copy of a partial page.
  std::optional<FakeSequence> start(const PrefixNamespace& space, std::vector<TokenId> prompt) {
    PrefixMatch match = tree->match(space, prompt, std::ssize(prompt) - 1);
    FakeSequence seq{.space = space, .tokens = std::move(prompt)};
    std::vector<PageId> copies;
    for (size_t g = 0; g < match.partial.size(); ++g) {
      const std::optional<PageId> id = take(g);
      if (!id) {
        for (size_t undo = 0; undo < g; ++undo)
          pools[undo]->release(copies[undo]);
        tree->release(match);
        return std::nullopt;
      }
      copies.push_back(*id);
      std::ranges::copy(memory.page(g, match.partial[g]), memory.page(g, *id).begin());
    }
    tree->drop_partial(match);
    seq.node = match.node;
    seq.computed = match.tokens;
    seq.in_tree = match.tokens / tree->page_tokens();
    seq.pages = std::move(match.pages);
    for (size_t g = 0; g < copies.size(); ++g)
      seq.pages[g].push_back(copies[g]);
    return seq;
  }

  // Computes the next token; false when no page is to be had.
  bool step(FakeSequence& seq) {
    const int64_t page = tree->page_tokens();
    const int64_t at = seq.computed % page;
    for (size_t g = 0; g < pools.size(); ++g) {
      if (std::ssize(seq.pages[g]) * page > seq.computed) continue;
      const std::optional<PageId> id = take(g);
      if (!id) return false;
      seq.pages[g].push_back(*id);
    }
    const uint64_t value =
        slot_values(seq.space, std::span(seq.tokens).first(static_cast<size_t>(seq.computed + 1)))
            .back();
    for (size_t g = 0; g < pools.size(); ++g)
      memory.slot(g, seq.pages[g].back(), at) = value;
    ++seq.computed;
    if (seq.computed % page == 0) {
      std::vector<PageId> full;
      for (const PageTable& table : seq.pages)
        full.push_back(table.back());
      seq.node = tree->extend(
          seq.node,
          std::span(seq.tokens)
              .subspan(static_cast<size_t>(seq.computed - page), static_cast<size_t>(page)),
          full);
      for (size_t g = 0; g < pools.size(); ++g)
        seq.pages[g].back() = full[g];
      ++seq.in_tree;
    }
    leave_windows(seq);
    return true;
  }

  // Ends a sequence; its tail stays in the tree unless it is cancelled.
  void finish(FakeSequence& seq, bool keeps_tail) {
    const int64_t page = tree->page_tokens();
    const int64_t tail = seq.computed % page;
    if (keeps_tail && tail > 0) {
      std::vector<PageId> last;
      for (const PageTable& table : seq.pages)
        last.push_back(table.back());
      tree->insert_partial(
          seq.node,
          std::span(seq.tokens)
              .subspan(static_cast<size_t>(seq.computed - tail), static_cast<size_t>(tail)),
          last);
    }
    for (size_t g = 0; g < pools.size(); ++g) {
      for (const PageId id : seq.pages[g]) {
        if (id != kNoPage) pools[g]->release(id);
      }
    }
    tree->unpin(seq.node);
    seq = FakeSequence();
  }

  // Runs a whole prompt and keeps it.
  bool run(const PrefixNamespace& space, std::vector<TokenId> prompt) {
    std::optional<FakeSequence> seq = start(space, std::move(prompt));
    if (!seq) return false;
    bool is_done = true;
    while (is_done && seq->computed < std::ssize(seq->tokens))
      is_done = step(*seq);
    finish(*seq, true);
    return is_done;
  }

  std::optional<PageId> take(size_t group) {
    if (pools[group]->free_pages() == 0) tree->evict(group, 1);
    return pools[group]->take();
  }

  std::vector<int64_t> windows;
  FakeMemory memory;
  std::vector<std::unique_ptr<PagePool>> pools;
  std::unique_ptr<PrefixTree> tree;

 private:
  void leave_windows(FakeSequence& seq) {
    for (size_t g = 0; g < pools.size(); ++g) {
      if (windows[g] == 0) continue;
      for (size_t i = 0; i < seq.pages[g].size(); ++i) {
        const int64_t end = static_cast<int64_t>(i + 1) * tree->page_tokens();
        PageId& id = seq.pages[g][i];
        if (end > seq.computed - windows[g] || id == kNoPage) continue;
        pools[g]->release(std::exchange(id, kNoPage));
      }
    }
  }
};

}  // namespace ingot
